"""Training runs: the training loop, the untrained model's run, learning curves and estimates."""
