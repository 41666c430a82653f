"""What the model was taught to read, as one hash: it changes exactly when a prompt comes out differently."""

from nlac_bench.agents.roles.behaviour import SAID, prompt_texts, sha256
from nlac_bench.agents.roles.compact import CompactPrompts, brief


def fingerprint() -> str:
    """sha256 of every role's prompt, with its numbering, on a fixed conversation."""
    return sha256([*(brief(text) for _, text in SAID), *prompt_texts(CompactPrompts(), 1_200)])
