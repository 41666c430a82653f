"""Refinement and best of N at test time: on the bandit with a real engine, and by rule where it is exact."""

import asyncio
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nlac_bench.agents.composed import ComposedAgent
from nlac_bench.agents.methods import BUILT_IN, Method
from nlac_bench.agents.prompts import PACKAGED
from nlac_bench.agents.registry import AgentContext, make
from nlac_bench.agents.roles.chat import EXAMPLE, ChatPrompts
from nlac_bench.agents.roles.compact import ACT, CompactPrompts
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.errors import ConfigError, DataError, NlacBenchError
from nlac_bench.learner import checkpoint
from nlac_bench.learner.action_heads import ActionHeads
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.model import PolicyModel
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.rollout.engines.engine import EngineError, Sample, SampleRequest, Sampling
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.model_files import HEADS
from nlac_bench.types import Episode, Usage
from tests.baselines import signal_env
from tests.baselines.signal_env import BUTTONS, COLOURS, Signal, right_button
from tests.rollout.stubs import Guess, RuleEngine

DRAWN = Sampling(temperature=1.0, max_tokens=16)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A policy that presses any button, and a successor that knows what each of them does."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield signal_env.shared_warm_start(tmp_path_factory, steps=140, batch=32, knows=True)
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def engine(warm: Any) -> Iterator[HFEngine]:
    made = HFEngine(copy.deepcopy(warm), signal_env.tokenizer())
    yield made
    made.close()


def composed(engine: Any, method: str | None = None, **fields: Any) -> ComposedAgent:
    policy = PolicyAgent(engine, CompactPrompts(), DRAWN, name=method or "react")
    declared = None if method is None else BUILT_IN[method]
    return ComposedAgent(policy, CompactPrompts(), method=declared, **fields)


def play(agent: Any, env: Callable[[], Any] = Signal, trials: int = 2) -> list[Episode]:
    tasks = env().task_ids
    specs = [EpisodeSpec(env.__name__, t, k, 7 * n + k) for n, t in enumerate(tasks) for k in range(trials)]

    async def run() -> list[Any]:
        return [r async for r in Driver(agent, env, concurrency=64).run(specs)]

    found = asyncio.run(run())
    assert all(isinstance(each, Episode) for each in found), found[0]
    return sorted(found, key=lambda e: (tasks.index(e.task_id), e.trial))


def success(episodes: list[Episode]) -> float:
    return sum(bool(e.success) for e in episodes) / len(episodes)


def scorer(warm: Any, sign: float) -> ActionHeads:
    """A head on the model's own hidden states that values the right buttons above the others, or below."""
    tok, made = signal_env.tokenizer(), PolicyModel(copy.deepcopy(warm), {"reward": "action"})
    pressed = [(c, b) for c in COLOURS for b in BUTTONS[c]]
    texts = [tok(f"<|signal|><|user|>{c}{ACT}{b}", add_special_tokens=False)["input_ids"] for c, b in pressed]
    ids = torch.tensor([[*text, 1] for text in texts])
    with torch.no_grad():
        hidden = made.causal_lm.get_decoder()(ids).last_hidden_state[:, -1]  # type: ignore[operator]
        labels = torch.tensor([sign if b == right_button(c) else -sign for c, b in pressed])
        head: Any = made.heads["reward"]
        head.weight.copy_(torch.linalg.lstsq(hidden, labels[:, None]).solution.T)
    return ActionHeads(made)


# --- the bandit: a critic that knows gains, one that is wrong loses -------------------------------------


@pytest.mark.parametrize("method", ["nlac", "rft"])
def test_the_best_of_n_is_chosen_by_verdict_or_by_the_picker(method: str, engine: HFEngine) -> None:
    agent = composed(engine, method, best_of=4)
    alone, best = play(agent.policy), play(agent)
    assert success(alone) < 0.45 < success(best) - 0.05
    roles = Counter(role for episode in best for role in episode.usage)
    chooser = {"nlac": "evaluator", "rft": "picker"}[method]
    assert set(roles) == {"policy", "successor", chooser} and roles["policy"] == len(best)


def test_refinement_gains(engine: HFEngine) -> None:
    agent = composed(engine, "nlac", refine=1)
    alone, refined = play(agent.policy), play(agent)
    assert success(alone) < 0.45 and success(refined) > success(alone) + 0.1
    kept = [one for one, other in zip(refined, alone, strict=True) if other.success]
    assert success(kept) > 0.9, "what is judged optimal is played"


@pytest.mark.parametrize(("sign", "low", "high"), [(1.0, 0.5, 1.0), (-1.0, 0.0, 0.1)])
def test_heads_choose_the_best_or_the_worst(
    sign: float, low: float, high: float, warm: Any, engine: HFEngine
) -> None:
    agent = composed(engine, "agent_prm", best_of=4, heads=scorer(warm, sign))
    episodes = play(agent)
    assert low <= success(episodes) <= high
    judged = [e.usage["evaluator"] for e in episodes if "evaluator" in e.usage]
    assert judged and all(u.calls > 1 and u.prompt_tokens > 0 and not u.completion_tokens for u in judged)


def test_it_is_the_policy_in_everything_else(engine: HFEngine) -> None:
    """Candidates of one kind need no choice; the first proposal is that of the policy alone."""
    greedy = replace(DRAWN, temperature=0.0)
    agent = composed(engine, "nlac", best_of=3)
    agent = replace(agent, policy=replace(agent.policy, sampling=greedy))
    for alone, best in zip(play(agent.policy, trials=1), play(agent, trials=1), strict=True):
        assert alone.turns[0].text == best.turns[0].text and set(best.usage) == {"policy"}
        assert alone.turns[0].output_ids == best.turns[0].output_ids
    refined = play(composed(engine, "nlac", refine=1), trials=1)
    for alone, one in zip(play(composed(engine, "nlac").policy, trials=1), refined, strict=True):
        assert one.turns[0].info["composition"]["proposed"] == alone.turns[0].text


def test_the_same_seeds_play_the_same(engine: HFEngine) -> None:
    agent = composed(engine, "nlac", best_of=3)
    first, second = ([e.turns[0].text for e in play(agent)] for _ in range(2))
    assert first == second and len(set(first)) > 2


# --- heads beside the weights -------------------------------------------------------------------------


def test_heads_are_exported_with_the_policy(tmp_path: Path) -> None:
    method = BUILT_IN["archer"]
    config = method.config({"precision": "fp32"})
    learner = Learner(signal_env.random_model(), config.learner(0, **method.learner_options(config)))
    tok: Any = signal_env.tokenizer()
    checkpoint.export(learner, tmp_path, tok)
    heads = ActionHeads.read(tmp_path, method.action_heads)
    assert heads is not None and set(method.action_heads) == {"q1", "q2"}
    from nlac_bench.learner.batch import TokenSequence, one_a_row

    ids = [[5, 6, 7, 1], [5, 6, 7, 8, 9, 1], [5, 6, 9, 1]]
    batch = one_a_row([TokenSequence(row, [0.0] * (len(row) - 1) + [1.0]) for row in ids])
    both = learner.scalars(batch, ["q1", "q2"])[batch.loss_mask != 0]
    assert heads.values(ids) == pytest.approx(both.amin(dim=-1).tolist(), abs=1e-5)
    with pytest.raises(DataError, match="reward"):
        ActionHeads.read(tmp_path, ("reward",))
    (tmp_path / HEADS).write_bytes(b"no tensors")
    with pytest.raises(DataError, match=HEADS):
        ActionHeads.read(tmp_path, method.action_heads)
    (tmp_path / HEADS).unlink()
    assert ActionHeads.read(tmp_path, method.action_heads) is None


def test_without_heads_the_model_chooses_itself(tmp_path: Path, engine: HFEngine) -> None:
    agent = composed(engine, "agent_prm", best_of=2)
    assert agent.chooses == "picker" and agent.with_weights(tmp_path).chooses == "picker"
    assert composed(engine, "nlac", refine=2).with_weights(tmp_path).heads is None


def test_a_method_declares_what_chooses() -> None:
    by = {
        chooser: {m.name for m in BUILT_IN.values() if m.best_of == chooser}
        for chooser in ("heads", "evaluator")
    }
    assert by["heads"] == {"agent_prm", "archer", "sac"}
    assert by["evaluator"] == {"nlac", "nlql", "critique_rl"}, "others train no critic that gives verdicts"
    with pytest.raises(ConfigError, match="kind 'action'"):
        Method(
            name="mine", summary="does", algorithm="a:B", best_of="heads", learner={"heads": {"v": "state"}}
        )


# --- by rule: what is asked, in which order, and what an unreadable answer does ---------------------------

CRITIC = {
    "successor": "Prediction: it goes wrong.\nOutcome: failure",
    "evaluator": "Why: too low.\nOptimal: no\nInstead: say more.",
    "refiner": "Thought: more.\nAction: 11",
    "picker": "Why: it is right.\nBest: 2",
}


class Drawing(RuleEngine):
    """Asks its rule for each of several samples."""

    async def sample(self, request: SampleRequest) -> list[Sample]:
        first, *_ = await super().sample(replace(request, n=1))
        others = [self.rule(request) for _ in range(request.n - 1)]
        return [first, *(Sample(text, "stop") if isinstance(text, str) else text for text in others)]


def prompted(name: str, rule: Callable[[SampleRequest], Any], **context: int) -> tuple[Episode, RuleEngine]:
    engine = Drawing(rule)
    agent = make(name, AgentContext(engine=engine, sampling=DRAWN, **context))  # type: ignore[arg-type]

    async def run() -> list[Any]:
        return [r async for r in Driver(agent, Guess).run([EpisodeSpec("guess", "11", 0, 5)])]

    (episode,) = asyncio.run(run())
    assert isinstance(episode, Episode), episode
    return episode, engine


@pytest.mark.parametrize("name", ["react", "act"])
def test_prompted_agents_are_refined(name: str) -> None:
    episode, engine = prompted(name, lambda r: CRITIC.get(r.role, "Thought: low.\nAction: 3"), refine=2)
    assert episode.success and [t.text for t in episode.turns] == ["11"]
    assert [r.role for r in engine.requests] == ["policy", *(["successor", "evaluator", "refiner"] * 2)]
    turn = episode.turns[0]
    assert turn.output_ids is None and turn.logprobs is None, "no tokens are those of the played action"
    assert turn.info["composition"]["critiques"] == [CRITIC["evaluator"]] * 2
    system = str(engine.requests[0].messages[0]["content"])  # type: ignore[index]
    plain, _ = prompted(name, lambda r: "11")
    assert plain.success and PACKAGED.fill(f"{name}_plain", policy="") in system
    asked = [r for r in engine.requests if r.role != "policy"]
    assert {r.sampling.temperature for r in asked} == {0.0}
    # This engine has no tokenizer, like a server: the prompts say in which form to answer.
    assert all(r.form is None and EXAMPLE in str(r.messages[-1]["content"]) for r in asked)  # type: ignore[index]


@pytest.mark.parametrize(
    ("broken", "asked"),
    [
        ({"successor": "?"}, ["successor"]),
        ({"evaluator": "?"}, ["successor", "evaluator"]),
        ({"refiner": "  "}, ["successor", "evaluator", "refiner"]),
        ({"evaluator": "Why: it is right.\nOptimal: yes\nInstead: nothing."}, ["successor", "evaluator"]),
    ],
)
def test_an_action_is_kept_if_it_is_optimal_or_an_answer_is_unreadable(
    broken: dict[str, str], asked: list[str]
) -> None:
    roles = CRITIC | broken
    episode, engine = prompted("react", lambda r: roles.get(r.role, "Action: 11"), refine=2)
    assert episode.success and [r.role for r in engine.requests] == ["policy", *asked]


@pytest.mark.parametrize(("answer", "played"), [("Best: 2", "3"), ("Best: 1", "11"), ("?", "11")])
def test_the_picker_reads_the_candidates_in_the_order_of_their_counts(answer: str, played: str) -> None:
    drawn = iter(["Action: 3", "Action: 11", "Action: 11"])

    def rule(request: SampleRequest) -> str:
        if request.role == "policy":
            return next(drawn, "Action: 11")
        return answer if request.role == "picker" else CRITIC[request.role]

    episode, engine = prompted("react", rule, best_of=3)
    assert episode.turns[0].text == played
    assert episode.turns[0].info["composition"]["candidates"] == ["Action: 11", "Action: 3"]
    assert [r.role for r in engine.requests][:4] == ["policy", "successor", "successor", "picker"]


def test_a_candidate_that_can_be_compared_with_none_is_not_chosen_over_the_most_frequent() -> None:
    def rule(request: SampleRequest) -> str:
        if request.role == "policy":
            return next(drawn, "Action: 11")
        return next(predictions, CRITIC["successor"])

    drawn, predictions = iter(["Action: 3", "Action: 11", "Action: 11"]), iter(["?"])
    episode, engine = prompted("react", rule, best_of=3)
    assert [turn.text for turn in episode.turns] == ["11"]
    assert [r.role for r in engine.requests] == ["policy", "successor", "successor"]


def test_all_roles_are_counted_in_the_episode_and_limited() -> None:
    """The proposals are the policy's, whatever becomes of them."""

    def rule(request: SampleRequest) -> Sample:
        text = CRITIC.get(request.role, "Action: 11")
        return Sample(text, "stop", usage=Usage(1, 10, 5, 0.25))

    episode, _ = prompted("react", rule, refine=1)
    assert episode.usage == {
        r: Usage(1, 10, 5, 0.25) for r in ("policy", "successor", "evaluator", "refiner")
    }
    assert episode.turns[0].usage == Usage(1, 10, 5, 0.25)
    assert set(episode.turns[0].other_usage) == {"successor", "evaluator", "refiner"}


def test_what_was_answered_before_a_role_failed_is_paid_for() -> None:
    paid = Usage(1, 10, 5, 0.25)

    def rule(request: SampleRequest) -> Sample:
        if request.role == "evaluator":
            raise EngineError("no answer", "server", usage=Usage(cost=0.5), role="evaluator")
        return Sample(CRITIC.get(request.role, "Action: 11"), "stop", usage=paid)

    agent = make("react", AgentContext(engine=RuleEngine(rule), sampling=DRAWN, refine=1))

    async def run() -> list[Any]:
        return [r async for r in Driver(agent, Guess).run([EpisodeSpec("guess", "11", 0, 5)])]

    (failure,) = asyncio.run(run())
    assert failure.usage == {"policy": paid, "successor": paid, "evaluator": Usage(cost=0.5)}


def test_an_answer_that_was_cut_is_played_like_that_of_the_policy() -> None:
    def rule(request: SampleRequest) -> Sample:
        return Sample("", "context_overflow")

    episode, engine = prompted("react", rule, best_of=2)
    assert episode.end_reason == "context_overflow" and {r.role for r in engine.requests} == {"policy"}


def test_heads_need_tokens() -> None:
    class Flat:
        def values(self, sequences: Any) -> list[float]:
            raise AssertionError("there are no tokens to read")

    texts = iter(range(99))
    engine = Drawing(lambda r: str(next(texts)))
    agent = replace(composed(engine, "agent_prm", best_of=2), heads=Flat())  # type: ignore[arg-type]
    with pytest.raises(NlacBenchError, match="--engine hf or vllm"):
        play(agent, Guess, 1)


def test_the_style_of_the_policy_is_that_of_the_prompted_agent() -> None:
    act, react = ChatPrompts(style="act"), ChatPrompts()
    assert set(act.hashes()) ^ set(react.hashes()) == {"act_plain", "act_tools", "react_plain", "react_tools"}
    assert act.with_forms(True).hashes() == act.hashes()
    assert act.parse_refined("Thought: more.\nAction: 11") == "11"
    assert react.parse_refined("Thought: more.\nAction: 11") == "Thought: more.\nAction: 11"
