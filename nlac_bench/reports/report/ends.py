"""Describes in words how an episode ended."""

_WORDS = {
    "success": "the task was solved",
    "failure": "the task was not solved",
    "max_steps": "the task's limit of steps was reached",
    "user_stop": "the user ended the conversation",
    "agent_stop": "the agent ended the episode",
    "context_overflow": "the conversation no longer fitted into the model's context",
    "turn_limit": "the run's limit of turns was reached",
    "token_limit": "the run's limit of generated tokens was reached",
    "cost_limit": "the run's limit of cost was reached",
    "time_limit": "the run's limit of time was reached",
    "length": "a reply was cut at its length limit before it contained an action",
    "content_filter": "a content filter stopped a reply",
    "terminated": "the environment ended the episode and gave no reason",
    "truncated": "the environment cut the episode and gave no reason",
}
"""The ends of ``TextEnv`` (``EndReason``) and of the driver, as words."""


def end_in_words(reason: str) -> str:
    """Return an episode's ``end_reason`` in words; reasons of other packages are returned unchanged."""
    return _WORDS.get(reason, reason)
