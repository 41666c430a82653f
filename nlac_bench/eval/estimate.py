"""What a run will take, before it is begun: `--dry-run`."""

from dataclasses import asdict, dataclass
from typing import Any

from nlac_bench.envs.text_env import TextEnv
from nlac_bench.eval.runner import FLOORS, Prepared

CHARS_PER_TOKEN = 4.0
"""English text and JSON under the usual vocabularies: 3.5 to 4.5."""
TOKENS_PER_TURN = {"react": 150, "act": 60, "tool_calling": 60}
SECONDS_PER_CALL = 5.0
"""A served model's reply of about a hundred tokens."""
_SAMPLED_TASKS = 5


@dataclass(frozen=True)
class Estimate:
    """Planned episodes and what they will roughly take; None where nothing can be said.

    Turns and observations are those of the oracle on a few of the planned tasks, so a policy that asks more
    takes more.
    """

    planned: int
    tasks: int
    turns_per_episode: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    seconds: float | None

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
            lines.append(
                "cost: unknown, no --price is set"
                if self.cost is None
                else f"cost: about US$ {self.cost:.2f}"
            )
        if self.seconds is not None:
            lines.append(f"time: about {self.seconds / 60:.0f} min at {SECONDS_PER_CALL:g} s a reply")
        return "\n".join(lines)


def of(prepared: Prepared) -> Estimate:
    """The estimate for a prepared run; plays the oracle, calls no model."""
    config, plan = prepared.config, prepared.plan
    tasks = list(dict.fromkeys(item.task_id for item in plan))
    env = prepared.make_env().unwrapped
    if not isinstance(env, TextEnv) or env.remote:
        return Estimate(len(plan), len(tasks), None, None, None, None, None)
    turns = chars_in = 0
    sampled = tasks[:: max(1, len(tasks) // _SAMPLED_TASKS)][:_SAMPLED_TASKS]
    for task in sampled:
        observation, info = env.reset(seed=0, options={"task_id": task})
        context = len(info["policy"]) + sum(len(str(tool)) for tool in info["tools"]) + len(observation)
        ended = False
        while not ended:
            action = env.oracle_action()
            chars_in += context
            turns += 1
            observation, _, ended, _, _ = env.step(action)
            context += len(action) + len(observation)
    per_episode = turns / len(sampled)
    if config.agent in FLOORS:
        return Estimate(len(plan), len(tasks), per_episode, 0, 0, 0.0, None)
    said = TOKENS_PER_TURN.get(config.agent, 150)
    prompt = int(
        len(plan) * (chars_in / CHARS_PER_TOKEN / len(sampled) + said * per_episode * (per_episode - 1) / 2)
    )
    completion = int(len(plan) * per_episode * said)
    price = config.prices("price")
    cost = None if price is None else (prompt * price[0] + completion * price[1]) / 1e6
    waves = -(-len(plan) // config.concurrency)
    return Estimate(
        len(plan), len(tasks), per_episode, prompt, completion, cost, waves * per_episode * SECONDS_PER_CALL
    )
