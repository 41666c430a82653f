"""The final answer in a solution."""
