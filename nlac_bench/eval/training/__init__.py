"""Training runs: the loop around an algorithm, the untrained run, the curve, the estimate."""
