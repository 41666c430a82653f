"""The customer of a shop or an airline: reads an agent's messages and answers from a script, without a model.

``goals`` are the dataclasses of scripts, ``phrases`` the words for them. ``README.md`` describes the steps.
"""

from typing import TYPE_CHECKING, Any

from nlac_bench.simulators.customer.intent import goals, phrases
from nlac_bench.simulators.customer.intent.goals import STOP

if TYPE_CHECKING:
    from nlac_bench.simulators.customer.hear.reading import MessageReading
    from nlac_bench.simulators.customer.speak.customer import Customer

__all__ = ["STOP", "Customer", "MessageReading", "goals", "phrases"]


def __getattr__(name: str) -> Any:
    """Import the modules that read messages on first use: they compile patterns for a second."""
    if name == "Customer":
        from nlac_bench.simulators.customer.speak.customer import Customer

        return Customer
    if name == "MessageReading":
        from nlac_bench.simulators.customer.hear.reading import MessageReading

        return MessageReading
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
