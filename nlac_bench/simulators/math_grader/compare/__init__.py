"""Whether the answer means what the gold answer means."""
