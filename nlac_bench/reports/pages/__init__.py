"""Shared parts of static pages: hostile text, templates, style and script, inline figures."""
