"""Names of environments: the built-in ids, plug-ins, and environment strings ``Name@{json}``."""

import gymnasium

BUILTIN = {
    "math500_hard": ("nlac_bench/Math500Hard-v0", "nlac_bench.envs.math500_hard:Math500HardEnv"),
    "twenty_questions": ("nlac_bench/TwentyQuestions-v0", "nlac_bench.envs.twenty_questions:TwentyQuestionsEnv"),
    "tau_retail": ("nlac_bench/TauRetail-v0", "nlac_bench.envs.tau:TauRetailEnv"),
    "tau_airline": ("nlac_bench/TauAirline-v0", "nlac_bench.envs.tau:TauAirlineEnv"),
}  # fmt: skip
"""CLI name → (Gymnasium id, entry point)."""


def register_builtin() -> None:
    """Register the four environments with Gymnasium; imports none of them."""
    for env_id, entry_point in BUILTIN.values():
        if env_id in gymnasium.registry:
            continue
        gymnasium.register(
            env_id,
            entry_point=entry_point,
            vector_entry_point=f"{entry_point.split(':')[0]}:{entry_point.split(':')[1]}Vector",
            # The spaces take any text and the environments answer bad input themselves.
            disable_env_checker=True,
        )
