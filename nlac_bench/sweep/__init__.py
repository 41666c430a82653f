"""Methods × environments × seeds: plan, play, report."""
