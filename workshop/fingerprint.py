"""Hashes the prompts that the model was trained on; the hash changes only if a prompt changes."""

from nlac_bench.agents.roles.behaviour import SAID, prompt_texts, sha256
from nlac_bench.agents.roles.compact import CompactPrompts, brief


def fingerprint() -> str:
    """Return the SHA-256 of every role's prompt on a fixed conversation, including the numbering of
    identifiers."""
    return sha256([*(brief(text) for _, text in SAID), *prompt_texts(CompactPrompts(), 1_200)])
