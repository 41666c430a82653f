"""Training of weights: losses, the learner, checkpoints, weight sync."""
