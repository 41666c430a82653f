"""What the customer wants and knows, and the words for it."""
