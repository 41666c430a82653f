"""What rule-based service agents have in common: they listen, look things up, ask, act and report."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

STOP = "###STOP###"


class Over(Exception):
    """The user has left."""


@dataclass
class TalkingAgent(ABC):
    """``say`` returns the user's reply, ``call`` a tool's observation."""

    say: Callable[[str], str]
    call: Callable[..., str]
    user_id: str = ""
    user: dict[str, Any] = field(default_factory=dict)
    heard: str = ""

    def play(self, first: str) -> None:
        """Serve the user until they leave."""
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
        """Find out who the user is."""

    @abstractmethod
    def kind(self, text: str) -> str | None:
        """What is asked for."""

    def tell(self, text: str) -> str:
        """Say something; the reply becomes what was last heard."""
        self.heard = self.say(text)
        if STOP in self.heard:
            raise Over
        return self.heard

    def read(self, name: str, **kwargs: Any) -> Any:
        """A tool's observation, parsed where it is JSON."""
        observation = self.call(name, **kwargs)
        try:
            return json.loads(observation)
        except ValueError:
            return observation

    def confirmed(self, proposal: str) -> bool:
        """Whether the user says yes to ``proposal``."""
        return self.tell(f"{proposal} Do you confirm (yes/no)?").startswith("Yes")

    def act(self, report: str, name: str, **kwargs: Any) -> None:
        """Call a tool and report."""
        observation = self.call(name, **kwargs)
        if observation.startswith("Error"):
            self.refuse(f"I am unable to do that: {observation[7:]}.")
        else:
            self.tell(f"{report} Is there anything else I can help you with?")

    def refuse(self, why: str) -> None:
        """Say no."""
        self.tell(f"I am sorry, but {why}")
