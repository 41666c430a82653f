"""A customer, a grader of answers, an oracle of 20 questions; no model."""
