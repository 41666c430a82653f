"""What a run will take, before it is begun: `--dry-run`."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nlac_bench.envs import registry as envs
from nlac_bench.envs.adapter import PlainEnv
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import EnvInfraError
from nlac_bench.eval.measure.prepare import FLOORS, outline
from nlac_bench.eval.runs.configuration import RunConfig
from nlac_bench.eval.training import estimate as estimate_training
from nlac_bench.eval.training.estimate import TrainingEstimate
from nlac_bench.types import ChatReply, Messages, Role

CHARS_PER_TOKEN = 4.0
"""English text and JSON under the usual vocabularies: 3.5 to 4.5."""
TOKENS_PER_TURN = {"react": 150, "act": 60, "tool_calling": 60}
SECONDS_PER_CALL = 5.0
"""A served model's reply of about a hundred tokens."""
TOKENS_PER_USER_REPLY = 40
_USER_PROMPT_TOKENS = 400
TALK_TURNS = 5
"""Messages to a user, which the oracle does without: an assumption, of τ's order of magnitude."""
_SAMPLED_TASKS = 5
_MAX_STEPS = 200


@dataclass(frozen=True)
class Estimate:
    """Planned episodes and what they will roughly take; None where nothing can be said.

    Turns and observations are those of the oracle (random actions in a plain Gymnasium environment, which
    has none) on a few of the planned tasks, so a policy that asks more
    takes more. Where a model plays the user, ``TALK_TURNS`` messages to it are added: the oracle is mute.
    """

    planned: int
    tasks: int
    turns_per_episode: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    user_tokens: int | None
    cost: float | None
    seconds: float | None
    training: TrainingEstimate | None = None

    def to_json(self) -> dict[str, Any]:
        """As a plain dict, marked as a dry run."""
        return {"dry_run": True, **asdict(self)}

    def to_text(self) -> str:
        """The same for people."""
        lines = [f"planned: {self.planned} episodes of {self.tasks} tasks"]
        if self.turns_per_episode is not None:
            lines.append(f"turns: about {self.turns_per_episode:.1f} an episode (the oracle's)")
        if self.prompt_tokens is not None and self.completion_tokens is not None:
            lines.append(
                f"policy tokens: about {self.prompt_tokens:,} in and {self.completion_tokens:,} out "
                f"({CHARS_PER_TOKEN:g} characters a token)"
            )
            if self.user_tokens:
                lines.append(f"tokens of user, oracle or judge: about {self.user_tokens:,}, all in all")
            lines.append(
                "cost: unknown, no --price (or --user-price) is set"
                if self.cost is None
                else f"cost: about US$ {self.cost:.2f}"
            )
        if self.seconds is not None:
            lines.append(f"time: about {self.seconds / 60:.0f} min at {SECONDS_PER_CALL:g} s a reply")
        if self.training is not None:
            lines.append(self.training.to_text())
        return "\n".join(lines)


def of(config: RunConfig) -> Estimate:
    """The estimate for ``config``; plays the oracle, loads and calls no model.

    Raises:
        NlacBenchError: what the run itself would refuse.
    """
    planned = outline(config, chat=None if config.user_model is None else _nobody)
    plan = planned.plan
    tasks = list(dict.fromkeys(item.task_id for item in plan))
    env: Any = planned.make_env().unwrapped
    simulated, talk = False, 0
    if isinstance(env, TextEnv) and env.remote:
        name, arguments = envs.parse(config.env)
        kept = {key: value for key, value in arguments.items() if key not in ("user", "oracle")}
        alone = config.changed(
            env=envs.join(name, kept),
            agent="oracle",
            train=None,
            offline=None,
            user=None,
            user_model=None,
            record=None,
            replay=None,
        )
        env = outline(alone).make_env().unwrapped
        simulated = "simulator" in planned.conditions
    said = TOKENS_PER_TURN.get(config.agent, 150)
    turns = tokens_in = user_tokens = 0.0
    sampled = tasks[:: max(1, len(tasks) // _SAMPLED_TASKS)][:_SAMPLED_TASKS]
    for task in sampled:
        observation, info = env.reset(seed=0, options={"task_id": task})
        fixed = len(info["policy"]) + sum(len(str(tool)) for tool in info["tools"])
        context = (fixed + len(observation)) / CHARS_PER_TOKEN
        talk = TALK_TURNS if simulated and info["tools"] else 0  # without tools, every step asks the oracle
        for _ in range(talk):
            tokens_in += context
            user_tokens += context - fixed / CHARS_PER_TOKEN + _USER_PROMPT_TOKENS
            context += said + TOKENS_PER_USER_REPLY
        ended, steps, rng = False, 0, np.random.default_rng(0)
        while not ended and steps < _MAX_STEPS:
            # A plain Gymnasium environment has no oracle; random actions say how long its texts are.
            action = env.random_action(rng) if isinstance(env, PlainEnv) else env.oracle_action()
            steps += 1
            tokens_in += context
            turns += 1
            user_tokens += _USER_PROMPT_TOKENS if simulated and not talk else 0
            observation, _, terminated, truncated, _ = env.step(action)
            ended = terminated or truncated
            context += said + len(observation) / CHARS_PER_TOKEN
    per_episode = turns / len(sampled) + talk
    if config.agent in FLOORS:
        return Estimate(len(plan), len(tasks), per_episode, 0, 0, 0, 0.0, None)
    prompt = int(len(plan) * tokens_in / len(sampled))
    completion = int(len(plan) * per_episode * said)
    user_in, user_out = int(len(plan) * user_tokens / len(sampled)), len(plan) * talk * TOKENS_PER_USER_REPLY
    costs = [
        (into * price[0] + out * price[1]) / 1e6
        for price, into, out in (
            (config.prices("price"), prompt, completion), (config.prices("user_price"), user_in, user_out),
        )
        if price is not None
    ]  # fmt: skip
    waves = -(-len(plan) // config.concurrency)
    return Estimate(
        planned=len(plan),
        tasks=len(tasks),
        turns_per_episode=per_episode,
        prompt_tokens=prompt,
        completion_tokens=completion,
        user_tokens=user_in + user_out,
        cost=sum(costs) if costs else None,
        seconds=waves * (per_episode + talk) * SECONDS_PER_CALL,
        training=None
        if config.train is None
        else estimate_training.of(config, prompt / max(1.0, len(plan) * per_episode)),
    )


async def _nobody(messages: Messages, role: Role) -> ChatReply:
    """Stands where a simulator's model will be: nothing is asked in a dry run."""
    raise EnvInfraError(f"a dry run asked the model of the {role!r}")
