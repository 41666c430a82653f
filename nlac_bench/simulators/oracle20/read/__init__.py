"""From a question to a formula."""
