"""Static pages."""
