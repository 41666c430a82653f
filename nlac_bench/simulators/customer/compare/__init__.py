"""Whether what was heard agrees with the goal."""
