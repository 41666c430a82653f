"""From LaTeX to a tree of nodes."""
