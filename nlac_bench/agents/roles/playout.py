"""Continues an episode from one of its states: replays its actions, takes another one, then lets the policy
play."""

from dataclasses import dataclass, field

from nlac_bench.agents.roles.policy_agent import PolicyActor
from nlac_bench.agents.roles.role_prompts import RolePrompts
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.types import Turn


@dataclass(frozen=True, slots=True)
class Playout:
    """A continuation: the environment's answers to the action and to later ones, whether it succeeded, the
    reward of the whole episode, its last transition (None if it was cut and has no outcome), and the policy's
    turns after the action, with their tokens."""

    observations: list[str]
    success: bool
    reward: float
    end: Transition | None
    turns: list[Turn] = field(default_factory=list)


async def replayed(env: TextEnv, transition: Transition, prompts: RolePrompts) -> TextEnv | None:
    """Bring ``env`` into the state before ``transition`` by replaying the episode's actions.

    Returns:
        ``env``, or None if the environment answered differently (as a live user simulator may).
    """
    await env.areset(seed=transition.seed, options={"task_id": transition.task_id})
    observation = ""
    for message in transition.state.played[1:]:
        if message["role"] == "assistant":
            observation, *_ = await env.astep(prompts.heard(str(message["content"]), transition.state))
        elif message["content"] != observation:
            return None
    return env


async def play_on(
    env: TextEnv,
    transition: Transition,
    action: str,
    actor: PolicyActor,
    prompts: RolePrompts,
    max_turns: int,
) -> Playout:
    """Take ``action`` in ``env`` (which is used up), then up to ``max_turns`` actions of ``actor``."""
    observation, reward, terminated, cut, info = await env.astep(prompts.heard(action, transition.state))
    observations, total = [observation], transition.reward_before + float(reward)
    turns: list[Turn] = []
    state, said = transition.state, action
    while not (terminated or cut) and len(observations) <= max_turns:
        turn = await actor.act(observation, info)
        if not turn.played:  # the context is full
            break
        state, said = state.after(said, observation, str(info.get("action_kind", "message"))), turn.text
        observation, reward, terminated, cut, info = await env.astep(turn.text)
        turn.observation, turn.reward = observation, float(reward)
        turns.append(turn)
        observations.append(observation)
        total += float(reward)
    success, end = terminated and bool(info.get("success")), None
    if terminated:
        end = Transition(
            state, said, float(reward), None, True, success, transition.task_id, transition.seed,
            transition.step + len(turns), transition.weight_version, transition.trial,
            reward_before=total - float(reward), last_words=observation,
        )  # fmt: skip
    return Playout(observations, success, total, end, turns)
