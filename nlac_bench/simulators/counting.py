"""Lists the words for small numbers, which the simulators read."""

NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
"""The numbers from 0 to 12; a word's index is its value."""
