"""τ-bench retail and airline: an engine with the original's semantics, tasks and simulated users."""

from nlac_bench.envs.tau.env import TauAirlineEnv, TauEnv, TauRetailEnv
from nlac_bench.envs.vector import vectorized

__all__ = ["TauAirlineEnv", "TauAirlineEnvVector", "TauEnv", "TauRetailEnv", "TauRetailEnvVector"]

TauRetailEnvVector = vectorized(TauRetailEnv)
TauAirlineEnvVector = vectorized(TauAirlineEnv)
