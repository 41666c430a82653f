"""What NLAC and every baseline share: the roles that one model plays, their prompts and parsers."""
