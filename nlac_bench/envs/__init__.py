"""What is played: text environments. Knows nothing of models, agents or training."""
