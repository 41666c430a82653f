"""Answers yes/no questions about objects from a knowledge base. ``README.md`` describes the steps."""

from nlac_bench.simulators.oracle20.answer.official import things_world
from nlac_bench.simulators.oracle20.answer.world import World, embedded_world
from nlac_bench.simulators.oracle20.find.sentence import find_question
from nlac_bench.simulators.oracle20.read.formula import Formula

__all__ = ["Formula", "World", "embedded_world", "find_question", "things_world"]
