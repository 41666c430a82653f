"""Values of nodes, exact and numeric."""
