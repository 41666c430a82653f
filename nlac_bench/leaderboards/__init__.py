"""Makes entries of boards from runs, checks them, and collects them."""
