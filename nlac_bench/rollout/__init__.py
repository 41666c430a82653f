"""Plays episodes: engines that sample text, the driver, recorded calls."""
