"""The registration of the algorithm; importing it does not import torch."""

from nlac_bench.agents.methods import Method

METHOD = Method(
    name="reward_weighted",
    summary="imitates its own episodes, each weighted by exp(return / beta)",
    algorithm="nlac_bench_example.reward_weighted:RewardWeighted",
    settings="nlac_bench_example.reward_weighted:RewardWeightedConfig",
)
