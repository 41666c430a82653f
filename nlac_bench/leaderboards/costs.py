"""Checks that the costs of a run are those of a model that acted: calls and tokens of each action.

They refuse a run of an agent without a model that was given another name, and counts that do not fit the
texts. They do not prove which model acted.
"""

import math
from collections.abc import Iterator
from pathlib import Path

from nlac_bench.agents.names import FLOORS, PROMPTED
from nlac_bench.errors import MissingDataError
from nlac_bench.harness.measure.engines import local_model
from nlac_bench.harness.measure.model_defaults import is_tiny
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.types import Episode, Role, Turn, Usage

_SLACK, _SLACK_SHARE = 4, 0.1
"""The excess of a text's tokens over the count that is accepted: a model need not sample the tokens that the
tokenizer makes of the same text."""
_MORE = 64
"""Tokens beyond two for each byte that a text may have: special tokens, and text that was redacted."""


def has_model(config: RunConfig) -> bool:
    """Return whether the agent of ``config`` acts with a model."""
    if config.agent in FLOORS:
        return False
    return config.model is not None or config.agent in PROMPTED or named_agents.is_method(config.agent)


def faults_of_costs(run: RunFolder) -> Iterator[str]:
    """Yield actions without a call of the model, runs without tokens, and counts that do not add up."""
    total = 0
    if run.subject.get("engine") is None:
        yield "no engine is stated, from which the agent sampled"
    several = run.subject.get("best_of") is not None
    for episode in run.episodes():
        where = _name(episode)
        spent: dict[Role, Usage] = {"policy": Usage()}
        for number, turn in enumerate(episode.turns, 1):
            if turn.role != "policy":
                continue
            for role, usage in (("policy", turn.usage), *turn.other_usage.items()):
                spent[role] = spent.get(role, Usage()) + usage
            if turn.played and turn.text and turn.usage.calls < 1:
                yield f"{where}: the action of turn {number} was made without a call of the model"
            if fault := _fault_of_ids(turn, several):
                yield f"{where}: turn {number} has {fault}"
        for role, usage in spent.items():
            stated = episode.usage.get(role, Usage())
            found, told = ((u.calls, u.prompt_tokens, u.completion_tokens) for u in (usage, stated))
            if found != told:
                of = "" if role == "policy" else f" of the role {role!r:.200}"
                yield f"{where}: {told} calls and tokens{of} are stated, {found} follow from its turns"
        total += spent["policy"].completion_tokens
    if not total:
        yield "no token was generated in any episode; the server must report the tokens of its replies"


def tokenizer_at_hand(config: RunConfig) -> Tokenizer | None:
    """Return the tokenizer of the run's model if that is embedded, in the cache, or a folder of this machine.

    Returns:
        None also for a trained agent with an embedded model, which samples numbers in place of identifiers:
        its texts have other tokens than those that it sampled.
    """
    model = config.model
    if model is None:
        return None
    try:
        folder = local_model(model)
    except MissingDataError:  # a pretrained model that was not fetched
        return None
    if not Path(folder).is_dir():
        return None
    if named_agents.is_method(config.agent) and is_tiny(model):
        return None
    from nlac_bench.rollout.engines.hf.loading import load_tokenizer  # transformers takes seconds

    return load_tokenizer(folder)


def faults_of_tokens(run: RunFolder, tokenizer: Tokenizer) -> Iterator[str]:
    """Yield the actions whose text has another number of tokens than was counted, or other tokens."""
    as_sampled = run.subject["agent"] in ("react", "act")  # the others rewrite calls, or begin the answer
    for episode in run.episodes():
        for number, turn in enumerate(episode.turns, 1):
            if turn.role != "policy":
                continue
            fault = _fault_of_text(turn, tokenizer) or (as_sampled and _fault_of_sampled(turn, tokenizer))
            if fault:
                yield f"{_name(episode)}: turn {number} has {fault}"


def _fault_of_ids(turn: Turn, several: bool) -> str | None:
    """Return a fault if other tokens are counted than were sampled; with ``several`` samples, fewer."""
    counted = turn.usage.completion_tokens
    if turn.output_ids is None or turn.usage.calls != 1 or len(turn.output_ids) == counted:
        return None
    if several and len(turn.output_ids) < counted:
        return None
    return f"{len(turn.output_ids)} sampled tokens, and states {counted}"


def _fault_of_text(turn: Turn, tokenizer: Tokenizer) -> str | None:
    counted = sum(u.completion_tokens for u in (turn.usage, *turn.other_usage.values()))
    text = str(turn.info.get("full_text", turn.text))
    needed = len(tokenizer(text, add_special_tokens=False)["input_ids"])
    if needed > math.ceil(counted * (1 + _SLACK_SHARE)) + _SLACK:
        return f"a text of {needed} tokens, and states {counted}"
    size = len(text.encode("utf-8", "backslashreplace"))
    if turn.output_ids is None and counted > 2 * size + _MORE:
        return f"a text of {size} bytes, and states {counted} tokens"
    return None


def _fault_of_sampled(turn: Turn, tokenizer: Tokenizer) -> str | None:
    """Return a fault if the sampled tokens do not begin with the text, which ends at a stop string."""
    if turn.output_ids is None:
        return None
    text = str(turn.info.get("full_text", turn.text))
    try:
        sampled = str(tokenizer.decode(turn.output_ids, skip_special_tokens=True))
    except (OverflowError, IndexError, TypeError):  # ids that the tokenizer does not have
        sampled = ""
    return None if sampled.startswith(text) else "a text that is not that of its sampled tokens"


def _name(episode: Episode) -> str:
    return f"task {episode.task_id!r:.200}, trial {episode.trial}"
