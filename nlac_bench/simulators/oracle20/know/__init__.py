"""What is known about each object."""
