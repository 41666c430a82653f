"""τ-bench retail and airline: an own engine with the original's semantics, its tasks and its users."""

from nlac_bench.envs.tau.env import TauAirlineEnv, TauEnv, TauRetailEnv
from nlac_bench.envs.vector import vectorized

__all__ = ["TauAirlineEnv", "TauAirlineEnvVector", "TauEnv", "TauRetailEnv", "TauRetailEnvVector"]

TauRetailEnvVector = vectorized(TauRetailEnv)
TauAirlineEnvVector = vectorized(TauAirlineEnv)
