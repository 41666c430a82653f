"""Measures an agent: turns a configuration into played episodes, and estimates what that takes."""
