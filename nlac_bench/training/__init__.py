"""The training loop, validation, checkpoints, learning curves."""
