"""How weights change: losses, the learner, checkpoints, weight sync."""
