"""The embedded shop with procedures that differ between worlds."""

from nlac_bench.envs.shop_worlds.env import ShopWorldsEnv
from nlac_bench.envs.vector import vectorized

__all__ = ["ShopWorldsEnv", "ShopWorldsEnvVector"]

ShopWorldsEnvVector = vectorized(ShopWorldsEnv)
