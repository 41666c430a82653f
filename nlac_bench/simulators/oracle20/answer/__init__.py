"""For which objects a formula is true."""
