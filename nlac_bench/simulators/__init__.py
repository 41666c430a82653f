"""Simulators without a model: a customer, a grader of answers, and an oracle for twenty questions."""
