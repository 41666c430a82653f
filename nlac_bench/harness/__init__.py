"""Stores runs on disk, reads configurations, and plays the episodes that they describe."""
