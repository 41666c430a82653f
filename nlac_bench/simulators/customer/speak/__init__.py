"""What the customer answers."""
