"""Environments of this package for ``verifiers`` (0.4, API v1): a taskset, an environment and a harness.

``nlac_bench_v1`` is the module that verifiers finds by the id ``nlac-bench-v1``.
"""

from collections.abc import Iterator
from typing import Any

from nlac_bench.bridges.playable import playable
from nlac_bench.bridges.require import require
from nlac_bench.harness.runs.seeds import plan_episodes

require("verifiers", "verifiers")

import verifiers.v1 as vf  # noqa: E402
from openai import AsyncOpenAI  # noqa: E402
from verifiers.v1.dialects.chat import message_to_wire  # noqa: E402
from verifiers.v1.runtimes import ProgramResult  # noqa: E402


class NlacData(vf.TaskData):
    """A task of an environment, and the seed of its episodes."""

    env: str
    seed: int


class NlacTask(vf.Task[NlacData]):
    """A task, which has no behaviour of its own: the environment scores the episode."""


class NlacTasksetConfig(vf.TasksetConfig):
    """Which environment is played: a name, a Gymnasium id or ``Name@{json}``, and the seed of its tasks.

    Each field has a default, because ``vf-eval`` makes the settings before it reads its options.
    """

    env: str = "tau_retail"
    seed: int = 0


class NlacTaskset(vf.Taskset[NlacTask, NlacTasksetConfig]):
    """The tasks of an environment, with the seeds of ``nlac-bench run --seed``."""

    def load(self) -> Iterator[NlacTask]:
        """Yield the tasks in their order. The environment opens each conversation, so there is no prompt."""
        config = self.config
        for item in plan_episodes(playable(config.env).task_ids, 1, base_seed=config.seed):
            data = NlacData(id=item.task_id, name=item.task_id, env=config.env, seed=item.seed)
            yield NlacTask(data, config.task)


class ChatHarnessConfig(vf.HarnessConfig):
    """The harness's settings: those of every harness."""


class ChatHarness(vf.Harness[ChatHarnessConfig]):
    """Asks the model for one reply, in this process; the built-in harnesses start a program for each."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> ProgramResult:
        """Send the conversation to ``endpoint``, which records the reply in ``trace``."""
        system, prompt = self.resolve_prompt(data)
        messages: list[Any] = [{"role": "system", "content": system}] if system else []
        if isinstance(prompt, str):
            messages.append({"role": "user", "content": prompt})
        else:
            messages += [message_to_wire(message) for message in prompt or ()]
        async with AsyncOpenAI(base_url=endpoint, api_key=secret, max_retries=0) as client:
            await client.chat.completions.create(model=ctx.model, messages=messages)
        return ProgramResult(exit_code=0, stdout="", stderr="")


class NlacEnvConfig(vf.EnvConfig):
    """The model's seat. Nothing is executed for the model, so no container is needed."""

    player: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class NlacEnv(vf.Env[NlacEnvConfig]):
    """Plays an episode: the environment's messages are the user's turns, the replies its actions.

    The reward ``reward`` is the undiscounted return. An ``EnvInfraError`` makes the episode an error, which
    verifiers does not score; neither is an episode scored whose model failed. A cut by a limit of verifiers
    (``max_turns``, tokens) is scored with the return so far.
    """

    async def run(self, task: NlacTask, agents: vf.Agents) -> None:
        """Play one episode and record its reward."""
        env = playable(task.data.env)
        _, info = await env.areset(seed=task.data.seed, options={"task_id": task.data.id})
        total, ended = 0.0, False
        try:
            async with agents.player.interaction(task) as interaction:
                segment = await interaction.turn(info["messages"])
                while not segment.terminated:
                    observation, reward, terminated, truncated, info = await env.astep(segment.last_reply)
                    total += reward
                    if ended := terminated or truncated:
                        break
                    segment = await interaction.turn(observation)
        finally:
            env.close()
        trace = interaction.trace
        if not trace.ok:
            return
        trace.record_reward("reward", total)
        if ended and info.get("success") is not None:
            trace.record_metric("success", float(info["success"]))
        trace.info["end_reason"] = info.get("end_reason") or "truncated"
