"""The grammar of yes/no questions: from words to formulas."""
