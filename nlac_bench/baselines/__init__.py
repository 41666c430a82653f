"""The algorithms that NLAC is compared with, on the same rollout, learner, prompts and budget."""
