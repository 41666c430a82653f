"""The training algorithms with which NLAC is compared; they use the same rollout, learner and prompts."""
