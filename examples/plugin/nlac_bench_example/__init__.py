"""The registration of the algorithms; importing it does not import torch."""

from nlac_bench.agents.methods import Method

METHOD = Method(
    name="reward_weighted",
    summary="imitates its own episodes, each weighted by exp(return / beta)",
    algorithm="nlac_bench_example.reward_weighted:RewardWeighted",
    settings="nlac_bench_example.reward_weighted:RewardWeightedConfig",
    best_of="picker",  # without a critic, the model itself chooses among the actions of --best-of
)

PAIRS = Method(
    name="episode_pairs",
    summary="prefers its own successes to its failures of the same task",
    algorithm="nlac_bench_example.pairs:Pairs",
    settings="nlac_bench_example.pairs:PairsConfig",
)
