"""Chooses the replica that answers a request: all requests of a conversation go to the same one.

A replica keeps the keys and values of what it has read, so the next turn of a conversation computes only its
new tokens there, and its whole prompt on any other replica.
"""

import contextlib
import threading
import weakref
from collections.abc import Iterator
from contextvars import ContextVar

OVERLOAD = 8
"""Number of samples in progress by which a replica may exceed the least loaded one. Beyond it, waiting for it
takes longer than computing the prompt again elsewhere."""


class Conversation:
    """Requests whose prompts have a common beginning, such as those of one episode."""


_current: ContextVar[Conversation | None] = ContextVar("nlac_bench_conversation", default=None)


@contextlib.contextmanager
def within(conversation: Conversation) -> Iterator[None]:
    """Assign the requests made within this context to ``conversation``; a task inherits the assignment."""
    token = _current.set(conversation)
    try:
        yield
    finally:
        _current.reset(token)


class Router:
    """Distributes requests over replicas, which are numbers from 0. Thread-safe.

    A new conversation begins at the replica with the fewest samples in progress, then with the fewest
    conversations. Conversations are forgotten when nothing refers to them any more.

    Args:
        replicas: number of replicas.
    """

    def __init__(self, replicas: int) -> None:
        self._lock = threading.Lock()
        self.running = dict.fromkeys(range(replicas), 0)
        self.places: weakref.WeakKeyDictionary[Conversation, int] = weakref.WeakKeyDictionary()

    @property
    def replicas(self) -> tuple[int, ...]:
        """The replicas that requests are sent to."""
        return tuple(self.running)

    def begin(self, samples: int) -> int | None:
        """Return the replica for a request of ``samples`` in the current context; None if none is left."""
        conversation = _current.get()
        with self._lock:
            if not self.running:
                return None
            place = None if conversation is None else self.places.get(conversation)
            least = min(self.running.values())
            if place not in self.running or self.running[place] > least + OVERLOAD:
                place = self._least_loaded()
            if conversation is not None:
                self.places[conversation] = place
            self.running[place] += samples
            return place

    def end(self, replica: int, samples: int) -> None:
        """Take into account that a request has ended."""
        with self._lock:
            if replica in self.running:
                self.running[replica] = max(0, self.running[replica] - samples)

    def leave_out(self, replica: int) -> bool:
        """Send no further requests to ``replica``; return whether requests were sent to it until now."""
        with self._lock:
            return self.running.pop(replica, None) is not None

    def admit(self, replica: int) -> None:
        """Send requests to ``replica`` again after ``leave_out``."""
        with self._lock:
            self.running.setdefault(replica, 0)

    def _least_loaded(self) -> int:
        conversations = list(self.places.values())
        return min(self.running, key=lambda number: (self.running[number], conversations.count(number)))
