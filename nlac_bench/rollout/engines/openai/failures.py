"""Turns what a server says instead of a reply into exceptions."""

from collections.abc import Callable

from nlac_bench.rollout.engines.backoff import RATE_LIMIT, TransientFault
from nlac_bench.rollout.engines.engine import EngineError
from nlac_bench.rollout.engines.openai.address import EngineSetupError
from nlac_bench.rollout.engines.openai.complaint import Complaint
from nlac_bench.rollout.engines.openai.meaning import Meaning, meaning_of
from nlac_bench.rollout.engines.openai.reply import (
    AnswerCut,
    ContextOverflow,
    MalformedCall,
    PromptFiltered,
)

__all__ = ["EngineSetupError", "ServerComplained", "exception_of", "redirected"]


class ServerComplained(Exception):
    """A server answered with an error, which has not been acted on yet.

    Args:
        base: the address to which the request was sent.
    """

    def __init__(self, complaint: Complaint, base: str) -> None:
        self.complaint, self.base = complaint, base
        self.meaning: Meaning = meaning_of(complaint)
        super().__init__(self.meaning)  # the message may quote the key


def exception_of(error: ServerComplained, host: str, model: str, redacted: Callable[[str], str]) -> Exception:
    """Return the exception for an error that no change of the request can avoid.

    Args:
        redacted: removes secrets from the message.
    """
    complaint, meaning = error.complaint, error.meaning
    message = redacted(complaint.message)
    where = f"HTTP {complaint.status or 200} from {host}"
    reason = f"{where}: {message[:500] or 'an empty reply'}"
    if meaning == "quota":
        return EngineSetupError(f"{reason}. The account's quota is used up; add credit or use another key")
    if meaning == "rate_limit":
        return TransientFault(reason, RATE_LIMIT, complaint.wait)
    if meaning == "overflow":
        return ContextOverflow(message[:2000])
    if meaning == "cut":
        return AnswerCut(message[:2000])
    if meaning == "filter":
        return PromptFiltered(message[:2000])
    if meaning == "setup":
        return EngineSetupError(f"{reason}. Check the API key, --base-url and --model {model!r}")
    if meaning == "call":
        return MalformedCall(redacted(complaint.generated or message)[:2000])
    if meaning == "server":
        return TransientFault(reason, "server" if complaint.status else "bad_reply", complaint.wait)
    return EngineError(reason, "refused")


def redirected(status: int, to: str, host: str) -> EngineSetupError:
    """Return the exception for a redirect to the address ``to``."""
    return EngineSetupError(
        f"HTTP {status} from {host}: it redirects to {to!r}. Redirects are not "
        "followed, because prompts and keys would go to another address; if you trust that server, pass "
        "its address as --base-url"
    )
