"""How an episode would go on: the same actions again up to a state, then another one, then the policy."""

from dataclasses import dataclass

from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.roles.role_prompts import RolePrompts
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.envs.text_env import TextEnv


@dataclass(frozen=True, slots=True)
class Playout:
    """What the environment said to the action and to those after it, and how it ended."""

    heard: list[str]
    success: bool


async def replayed(env: TextEnv, transition: Transition, prompts: RolePrompts) -> TextEnv | None:
    """``env`` in the transition's state; None where the same actions led elsewhere (a live simulator)."""
    await env.areset(seed=transition.seed, options={"task_id": transition.task_id})
    observation = ""
    for message in transition.state.messages[1:]:
        if message["role"] == "assistant":
            observation, *_ = await env.astep(prompts.heard(str(message["content"]), transition.state))
        elif message["content"] != observation:
            return None
    return env


async def play_on(
    env: TextEnv, transition: Transition, action: str, agent: PolicyAgent, seed: int, max_turns: int
) -> Playout:
    """Play ``action`` in ``env`` (consumed), then whatever ``agent`` does, at most ``max_turns`` times."""
    actor = agent.resume(transition.state, action, seed)
    observation, _, terminated, cut, info = await env.astep(agent.prompts.heard(action, transition.state))
    heard = [observation]
    while not (terminated or cut) and len(heard) <= max_turns:
        turn = await actor.act(observation, info)
        observation, _, terminated, cut, info = await env.astep(turn.text)
        heard.append(observation)
    return Playout(heard, terminated and bool(info.get("success")))
