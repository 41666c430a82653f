"""The project's figures, each with the table of its numbers. The same numbers always give the same bytes."""
