"""Lists the words of the small numbers, for readers of text."""

NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
"""The numbers from 0 to 12; a word's index is its value."""
