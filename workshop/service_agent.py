"""Defines the base class of the rule-based service agents, which look things up, ask, act and report."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

STOP = "###STOP###"


class Over(Exception):
    """Raised when the user has ended the conversation."""


@dataclass
class TalkingAgent(ABC):
    """A service agent; ``say`` returns the user's reply, ``call`` the observation of a tool."""

    say: Callable[[str], str]
    call: Callable[..., str]
    user_id: str = ""
    user: dict[str, Any] = field(default_factory=dict)
    heard: str = ""

    def play(self, first: str) -> None:
        """Serve the user until the conversation ends."""
        self.heard = first
        try:
            self.authenticate()
            while True:
                kind = self.kind(self.heard)
                if kind is None:
                    self.tell("What would you like me to do?")
                else:
                    getattr(self, f"do_{kind}")(self.heard)
        except Over:
            return

    @abstractmethod
    def authenticate(self) -> None:
        """Ask for and look up the user's identity."""

    @abstractmethod
    def kind(self, text: str) -> str | None:
        """Return the kind of request in ``text``, which selects the method ``do_KIND``; None if there is
        none."""

    def tell(self, text: str) -> str:
        """Send a message, store the reply in ``heard`` and return it."""
        self.heard = self.say(text)
        if STOP in self.heard:
            raise Over
        return self.heard

    def read(self, name: str, **kwargs: object) -> Any:
        """Return a tool's observation, parsed if it is JSON."""
        observation = self.call(name, **kwargs)
        try:
            return json.loads(observation)
        except ValueError:
            return observation

    def confirmed(self, proposal: str) -> bool:
        """Ask the user to confirm ``proposal``; whether the answer is yes."""
        return self.tell(f"{proposal} Do you confirm (yes/no)?").startswith("Yes")

    def act(self, report: str, name: str, **kwargs: object) -> None:
        """Call a tool, and tell the user the result: ``report``, or the error."""
        observation = self.call(name, **kwargs)
        if observation.startswith("Error"):
            self.refuse(f"I am unable to do that: {observation[7:]}.")
        else:
            self.tell(f"{report} Is there anything else I can help you with?")

    def refuse(self, why: str) -> None:
        """Refuse the request for the reason ``why``."""
        self.tell(f"I am sorry, but {why}")
