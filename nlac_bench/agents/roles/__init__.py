"""The roles of a model, with their prompts and parsers; NLAC and all baselines share them."""
