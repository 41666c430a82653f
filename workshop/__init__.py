"""The workshop of the embedded models: their corpus, pre-training and measurements. It is not installed."""
