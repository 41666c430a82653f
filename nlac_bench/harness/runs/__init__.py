"""Runs on disk: folders, lines of JSON, manifests, seeds and configurations."""
