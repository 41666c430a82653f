"""What a message says: its units, their acts, and the values they name."""
