"""Simulators without a model: a customer, a grader of mathematical answers, an oracle of twenty questions."""
