"""Estimates the episodes, tokens, cost, time and memory of a run before it starts (``run --dry-run``)."""

import importlib.util
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nlac_bench.agents.composed import answers_per_action
from nlac_bench.agents.names import FLOORS
from nlac_bench.envs import registry as envs
from nlac_bench.envs.adapter import PlainEnv
from nlac_bench.envs.env_string import join
from nlac_bench.errors import ConfigError, EnvInfraError
from nlac_bench.harness.measure.engines import (
    engine_kind,
    local_model,
    policy_replicas,
    refuse_server_options,
)
from nlac_bench.harness.measure.memory_estimate import MemoryEstimate, memory_estimate, this_machine
from nlac_bench.harness.measure.missing import Missing, missing, missing_data
from nlac_bench.harness.measure.new_templates import TEST_NEW, new_outline
from nlac_bench.harness.measure.official_tasks import Sampled, needs_user, official_tasks
from nlac_bench.harness.measure.prepare import NeedsUserError, Outline, Prepared, agent_of, described, outline
from nlac_bench.harness.measure.sampled_episodes import (
    TOKENS_PER_USER_REPLY,
    answer_tokens,
    instruction_tokens,
    mean_episode,
    policy_tokens,
    sample_episodes,
)
from nlac_bench.harness.measure.speed import MOST_PARAMETERS, measure, operations_per_second
from nlac_bench.harness.measure.training_estimate import (
    TrainingEstimate,
    digits,
    duration,
    parameters_of,
    training_estimate_of,
)
from nlac_bench.harness.measure.training_tasks import held_out, split_tasks
from nlac_bench.harness.measure.unloaded import CHARS_PER_TOKEN, UnloadedEngine
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.secrets import refuse_secrets
from nlac_bench.types import ChatReply, Messages, Role

SECONDS_PER_CALL = 5.0
"""Assumed time of a served model's reply of about a hundred tokens."""
_NO_EPISODES = {"base": 0, "validation": 0, "training": 0, "test": 0}


@dataclass(frozen=True)
class RunEstimate:
    """The planned episodes and a rough estimate of their cost; None where no estimate is possible.

    Turns and observations are those of the oracle on a few of the planned tasks (random actions in a plain
    Gymnasium environment), so a policy that asks more questions takes more. Where a model plays the user,
    ``sampled_episodes.TALK_TURNS`` messages to it are added, because the oracle sends none.
    """

    planned: int
    tasks: int
    turns_per_episode: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    user_tokens: int | None
    cost: float | None
    seconds: float | None
    """Wall time of the test episodes if a server answered each call in ``SECONDS_PER_CALL``."""
    training: TrainingEstimate | None = None
    episodes: Mapping[str, int] = field(default_factory=dict)
    """Numbers of ``base``, ``validation``, ``training`` and ``test`` episodes, and of ``test_new`` if any."""
    tokens: int | None = None
    """Tokens that all models read and generate, in all of these episodes and in training."""
    seconds_here: float | None = None
    """Wall time on this machine: measured with a small local model, extrapolated from a matrix multiplication
    for a large one, ``seconds`` with a server. None if the model's size is unknown."""
    memory_bytes: int | None = None
    """Peak of the memory of this process and of engine processes (``--replicas``)."""
    memory: MemoryEstimate | None = None
    """What it consists of."""
    missing: tuple[Missing, ...] = ()
    time_from: str = ""
    """How ``seconds_here`` was estimated, if neither the model nor a server's assumed speed gives it."""
    played_with: str = ""
    """How the turns were estimated."""

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict, marked as a dry run."""
        return {"dry_run": True, **asdict(self)}

    def to_text(self) -> str:
        """Return the estimate as text for the terminal."""
        served = self.memory is None  # by a server, or a local model of unknown size
        lines = [f"missing: {each.what}; {each.fix}" for each in self.missing]
        lines.append(f"planned: {self.planned} episodes of {self.tasks} tasks")
        if new := self.episodes.get(TEST_NEW):
            lines.append(f"and {new} episodes of new templates (split {TEST_NEW})")
        if self.training is not None:
            counts = ", ".join(f"{count:,} {name}" for name, count in self.episodes.items())
            lines.append(f"episodes: {counts} (validation and training are estimates)")
        if self.turns_per_episode is not None:
            lines.append(
                f"turns: about {self.turns_per_episode:.1f} per episode (estimated {self.played_with})"
            )
        if self.prompt_tokens is not None and self.completion_tokens is not None:
            lines.append(
                f"tokens of the agent's model: about {self.prompt_tokens:,} in and "
                f"{self.completion_tokens:,} out (at {CHARS_PER_TOKEN:g} characters per token)"
            )
            if self.user_tokens:
                lines.append(f"tokens of the user, oracle or judge: about {self.user_tokens:,} in and out")
            if self.cost is not None:
                lines.append(f"cost: about US$ {self.cost:.2f}")
            elif served or self.user_tokens:
                lines.append("cost: unknown; set --price (and --user-price) to estimate it")
        if self.seconds is not None and served and self.training is None:  # a served model cannot be trained
            at = f"at {SECONDS_PER_CALL:g} s per reply"
            lines.append(f"time with a server: {duration(self.seconds)} {at}")
        if self.training is not None:
            lines.append(self.training.to_text())
        if self.tokens:
            lines.append(f"tokens of all models: about {digits(self.tokens)}")
        if self.memory is not None:
            lines.append(self.memory.to_text())
        if self.seconds_here is not None:
            lines.append(f"time here: {duration(self.seconds_here)} (wall time{self.time_from})")
        elif self.tokens:
            lines.append("time here: unknown, because neither the model's name nor a folder gives its size")
        return "\n".join(lines)


def estimate_of(config: RunConfig, check: Callable[[Prepared], None] = lambda prepared: None) -> RunEstimate:
    """Return the estimate for ``config``.

    A small local model is loaded and measured for about a second. Where official data are missing, their
    stored figures are used (see ``official_tasks``).

    Args:
        check: checks what a run is started from (``untrained.check_base``).

    Raises:
        NlacBenchError: for everything that the run itself would refuse, except for what
            ``RunEstimate.missing`` lists.
    """
    lacking = missing(config)
    refuse_secrets(config.as_dict())
    plan = _plan(config, lacking, check)
    count, tested = plan.episodes, plan.episodes + plan.new
    new = {TEST_NEW: plan.new} if plan.new else {}
    simulated = config.user_model is not None or config.replay is not None or plan.needs_user
    episode = mean_episode(config, plan.sampled, simulated, plan.instructions)
    if config.agent in FLOORS:
        return RunEstimate(
            count, plan.task_count, episode.turns, 0, 0, 0, 0.0, None,
            episodes={**_NO_EPISODES, "test": count, **new}, tokens=0, memory_bytes=0,
            missing=tuple(lacking), played_with=plan.played_with,
            seconds_here=None if plan.seconds is None else tested * plan.seconds,
        )  # fmt: skip

    # The test episodes: tokens, cost, and time where a server answers.
    reads, writes = _answers_per_action(config)
    prompt = int(tested * episode.prompt * reads)
    completion = int(tested * episode.turns * episode.answer * writes)
    user_in, user_out = int(tested * episode.user), tested * episode.talk * TOKENS_PER_USER_REPLY
    costs = [
        (into * price[0] + out * price[1]) / 1e6
        for price, into, out in (
            (config.prices("price"), prompt, completion), (config.prices("user_price"), user_in, user_out),
        )
        if price is not None
    ]  # fmt: skip
    calls = episode.turns * reads + episode.talk  # one after the other
    seconds = -(-tested // config.concurrency) * calls * SECONDS_PER_CALL

    # Training adds base, validation and training episodes.
    training, episodes = None, {**_NO_EPISODES, "test": count, **new}
    if config.train is not None:
        training = training_estimate_of(
            config, episode.prompt / episode.turns, episode.turns, answer_tokens(config),
            policy_tokens(config, plan.sampled), episode.new if this_machine()[1] == "cpu" else None,
        )  # fmt: skip
        episodes |= {
            "base": 0 if config.base else count,
            "validation": training.validations * plan.validation_tasks,
            "training": training.episodes,
        }
    # Validations play the policy alone.
    composed, measured = episodes["base"] + tested, episodes["base"] + episodes["validation"] + tested
    sampled = (composed * writes + episodes["validation"]) * episode.turns * episode.answer
    sampled += (training.generated_tokens or 0) if training else 0
    read = (composed * reads + episodes["validation"]) * episode.prompt
    read += training.read_tokens if training else 0

    # Time and memory in this process.
    served = engine_kind(str(config.model), config.base_url, config.engine) == "openai"
    model = local_model(str(config.model))
    size = None if served else parameters_of(model)
    here: float | None = seconds if served else None
    time_from = ""
    # Conversations stay in the engine's cache, so each token of an episode is read once.
    once = measured * episode.context + composed * (reads - 1) * episode.prompt
    once += training.read_tokens * episode.new * episode.turns / episode.prompt if training else 0
    learned = (training.trained_tokens or 0) if training else 0
    operations = training.operations if training else 0
    if size is not None and size <= MOST_PARAMETERS and Path(model).is_dir():
        speed = measure(model, training is not None)
        here = sampled / speed.sampled + once / speed.read
        if speed.learned is not None:
            here += operations / 6 / speed.learned
    elif size is not None and importlib.util.find_spec("torch") is not None:
        here = size * (2 * (sampled + once) + operations) / operations_per_second()
        time_from = ", extrapolated by FLOPs from a second of matrix multiplication; sampling is slower"
    evaluated = max(count, plan.validation_tasks)
    in_a_step = training.step_tokens if training else math.inf
    memory = None if served else memory_estimate(config, size, episode, evaluated, learned, in_a_step)
    return RunEstimate(
        planned=count,
        tasks=plan.task_count,
        turns_per_episode=episode.turns,
        prompt_tokens=prompt,
        completion_tokens=completion,
        user_tokens=user_in + user_out,
        cost=sum(costs) if costs else None,
        seconds=seconds,
        training=training,
        episodes=episodes,
        tokens=int(sampled + read) + user_in + user_out,
        seconds_here=here,
        memory_bytes=0 if served else None if memory is None else memory.peak,
        memory=memory,
        missing=tuple(lacking),
        time_from=time_from,
        played_with=plan.played_with,
    )


def _answers_per_action(config: RunConfig) -> tuple[int, int]:
    """Return how many prompts the agent reads, and how many answers it writes, for an action at most."""
    chooses = named_agents.method(config.agent).best_of if named_agents.is_method(config.agent) else "picker"
    return answers_per_action(config.refine or 0, config.best_of or 0, chooses)


@dataclass(frozen=True)
class _Plan:
    """Numbers of test episodes, test tasks and validation tasks; episodes of a few test tasks, and the mean
    wall time of those (None if they were not played here)."""

    episodes: int
    task_count: int
    validation_tasks: int
    needs_user: bool
    sampled: Sequence[Sampled]
    seconds: float | None
    played_with: str
    instructions: float
    """Tokens of the agent's instructions and the chat template."""
    new: int = 0
    """Number of episodes of the split ``test_new``."""


def _plan(config: RunConfig, lacking: list[Missing], check: Callable[[Prepared], None]) -> _Plan:
    """Return the run's plan; a model of the user that is needed and not set is added to ``lacking``."""
    official = official_tasks(config)
    absent = missing_data(official) is not None
    served_user = config.user_model is not None or config.replay is not None
    needed = needs_user(config)
    chat = _no_model if served_user or (needed and not absent) else None
    name, arguments = envs.parse(config.env)
    if absent:  # the checks of settings that do not depend on the data are made with the embedded ones
        kept = {key: value for key, value in arguments.items() if key not in ("data", "split")}
        stand_in = {"env": join(name, kept), "data": "embedded", "split": None, "tasks": None}
        config, selected = config.changed(**stand_in, limit=None), config
    try:
        planned = outline(config, chat)
    except NeedsUserError as error:
        lacking.append(Missing(error.what, error.fix))
        needed, planned = True, outline(config, _no_model)
    instructions = 0.0 if config.agent in FLOORS else _instructions(planned, lacking, check)
    validation = 0
    if config.train is not None:
        made = planned.environments
        splits = made.training.task_ids, made.validation.task_ids
        validation = len(split_tasks(*splits, config.train.val_tasks, config.seed)[0])
    if absent and official is not None:
        count = official.planned(selected)
        if count is None:
            raise ConfigError(f"the official data of {name} have no such split; there are {official.counts}")
        training = official.counts.get("train")
        if config.train is not None and training is not None:  # none of them has a validation split
            every = official.all_levels if config.train.levels == "all" else None
            validation = held_out(every or training, config.train.val_tasks)
        played_with = "without the official data, from stored lengths of oracle episodes"
        return _Plan(
            count * config.trials,
            count,
            validation,
            needed,
            official.sampled,
            None,
            played_with,
            instructions,
        )
    tasks = list(dict.fromkeys(item.task_id for item in planned.plan))
    began = time.perf_counter()
    sampled = sample_episodes(planned, tasks)
    seconds = (time.perf_counter() - began) / len(sampled)
    plain = isinstance(planned.environments.measured, PlainEnv)
    played_with = "with random actions" if plain else "with the oracle"
    new = new_outline(planned)
    return _Plan(
        len(planned.plan), len(tasks), validation, needed, sampled, seconds, played_with,
        instructions, 0 if new is None else len(new.plan),
    )  # fmt: skip


def _instructions(planned: Outline, lacking: Sequence[Missing], check: Callable[[Prepared], None]) -> float:
    """Make the agent, and return the tokens of its instructions.

    Raises:
        NlacBenchError: for everything that the run would refuse when it makes the engine and the agent.
    """
    config = planned.config
    kind = engine_kind(str(config.model), config.base_url, config.engine)
    refuse_server_options(kind, config.base_url, config.request)
    policy_replicas(config)
    engine = UnloadedEngine(config)
    agent = agent_of(planned, engine)
    if not lacking and config.servers is None:
        check(described(planned, engine, agent))
    return instruction_tokens(planned, agent, engine)


async def _no_model(messages: Messages, role: Role) -> ChatReply:
    """Raise an error in place of a simulator's model, which a dry run must not call."""
    raise EnvInfraError(f"a dry run called the model of the {role!r}")
