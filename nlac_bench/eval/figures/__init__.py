"""The project's figures. Each has the table of its numbers, and the same numbers always give the same bytes."""
