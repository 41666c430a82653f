"""`run --dry-run`: what a run would play, take and lack."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from nlac_bench import tiny
from nlac_bench.envs.twenty_questions.objects import official_world
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.measure import estimate
from nlac_bench.harness.measure.missing import missing, refuse_missing
from nlac_bench.harness.measure.official_tasks import OFFICIAL_TASKS
from nlac_bench.harness.measure.prepare import agent_of, outline, prepare
from nlac_bench.harness.measure.sampled_episodes import sample_episodes, scripted_env
from nlac_bench.harness.measure.speed import operations_per_second
from nlac_bench.harness.measure.training_estimate import digits, duration, training_estimate_of
from nlac_bench.harness.measure.unloaded import UnloadedEngine
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.stored_settings import read_config

PAPER = Path(__file__).parents[2] / "configs" / "paper"
SERVER = "http://127.0.0.1:9/v1"
FETCHED = {
    "tau_retail": "data fetch tau`",
    "math500_hard": "data fetch math` (with --from FOLDER for the training problems)",
    "twenty_questions": "data fetch twenty_questions --from FOLDER`",
}
"""The command for the official data, by the environment of a configuration."""


def config(**settings: Any) -> RunConfig:
    return RunConfig.from_mapping({"env": "tau_retail", **settings}, "test")


@pytest.fixture
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither data nor weights nor network."""
    monkeypatch.setenv("NLAC_BENCH_DATA", str(tmp_path))
    monkeypatch.setenv("NLAC_BENCH_CACHE", str(tmp_path))
    monkeypatch.setattr("nlac_bench.harness.measure.missing.available", lambda name: False)
    monkeypatch.setattr("nlac_bench.harness.measure.estimate.operations_per_second", lambda: 1e11)
    official_world.cache_clear()  # another test of this process may have read the data


@pytest.mark.usefixtures("empty_machine")
@pytest.mark.parametrize("path", sorted(PAPER.glob("*.toml")), ids=lambda path: path.stem)
def test_the_papers_configurations_are_estimated_on_an_empty_machine(path: Path) -> None:
    settings = RunConfig.from_mapping(read_config(path), path.name)
    found = estimate.estimate_of(settings).to_json()
    counts = {"tau_retail": 115, "math500_hard": 134, "twenty_questions": 500}
    (tests,) = (count for name, count in counts.items() if path.name.startswith(name))
    assert found["planned"] == found["episodes"]["test"] == found["episodes"]["base"] == tests
    assert found["episodes"]["validation"] == 65 * 100 and found["episodes"]["training"] > 0
    assert found["tokens"] > 1e9 and found["memory_bytes"] > 1e11 and found["seconds_here"] > 3600
    said = [each["what"] for each in found["missing"]]
    assert any("weights of Q" in what for what in said) and any("official data" in what for what in said)
    assert any("plays the user" in what for what in said) == path.name.startswith("tau")
    (fetched,) = (text for name, text in FETCHED.items() if path.name.startswith(name))
    assert any(fetched in each["fix"] for each in found["missing"])
    assert all(each["fix"] and each["fix"] not in each["what"] for each in found["missing"])
    shown = estimate.estimate_of(settings).to_text()
    assert "estimated without the official data" in shown and "extrapolated by FLOPs" in shown
    with pytest.raises(NlacBenchError) as refused:
        refuse_missing(settings)
    assert all(f"{each['what']}: {each['fix']}" in str(refused.value) for each in found["missing"])


@pytest.mark.official
@pytest.mark.parametrize("name", OFFICIAL_TASKS)
def test_the_stored_figures_are_those_of_the_official_data(name: str) -> None:
    official = OFFICIAL_TASKS[name]
    planned = outline(config(env=name, agent="oracle", data="official"))
    tasks = [item.task_id for item in planned.plan]
    assert tuple(sample_episodes(planned, tasks)) == official.sampled
    for clean, counts in ((None, official.counts), ("clean", official.clean)):
        for split, count in counts.items():
            chosen = outline(config(env=name, agent="oracle", data="official", split=split, tasks=clean))
            assert len(chosen.plan) == count


@pytest.mark.official
@pytest.mark.parametrize("user", [{}, {"user_model": "gpt-5", "user_base_url": SERVER}])
@pytest.mark.parametrize("path", sorted(PAPER.glob("*7b.toml")), ids=lambda path: path.stem)
def test_an_estimate_does_not_depend_on_the_data(
    path: Path, user: dict[str, str], official_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if user and not path.name.startswith("tau"):
        pytest.skip("only τ has a user")
    monkeypatch.setattr("nlac_bench.harness.measure.missing.available", lambda name: True)
    monkeypatch.setattr("nlac_bench.harness.measure.estimate.operations_per_second", lambda: 1e11)
    found = []
    for data in (official_data, tmp_path):
        monkeypatch.setenv("NLAC_BENCH_DATA", str(data))
        monkeypatch.setenv("NLAC_BENCH_CACHE", str(tmp_path))
        official_world.cache_clear()
        found.append(
            estimate.estimate_of(RunConfig.from_mapping(read_config(path) | user, path.name)).to_json()
        )
    lacking = [{each["what"] for each in one.pop("missing")} for one in found]
    assert "oracle" in found[0].pop("played_with") and "stored" in found[1].pop("played_with")
    assert found[0] == found[1]
    assert lacking[0] < lacking[1] and len(lacking[0]) == (path.name.startswith("tau") and not user)


@pytest.mark.usefixtures("empty_machine")
@pytest.mark.parametrize(
    ("settings", "count"),
    [({"tasks": "clean"}, 106), ({"tasks": "clean", "limit": 5}, 5), ({"split": "dev"}, 20),
     ({"split": "train", "tasks": "clean"}, 481), ({"tasks": "a, b"}, 2), ({"trials": 2}, 230)],
)  # fmt: skip
def test_the_official_tasks_that_a_run_selects_are_counted(settings: dict[str, Any], count: int) -> None:
    asked = config(agent="react", model="m", base_url=SERVER, data="official", **settings)
    found = estimate.estimate_of(asked)
    assert found.planned == count
    users = [each for each in found.missing if "user" in each.what]
    assert len(users) == (settings.get("split") != "train")  # the training split has scripted users


@pytest.mark.usefixtures("empty_machine")
def test_training_on_airline_without_its_data_uses_the_embedded_tasks() -> None:
    found = estimate.estimate_of(
        config(env="tau_airline", data="official", agent="rft", model="o/m-7b", train={})
    )
    assert found.training is not None and found.episodes["validation"] >= 10 * found.training.validations


def test_the_speed_of_this_machine_is_measured() -> None:
    assert operations_per_second() > 1e6


def test_a_training_of_the_embedded_model_is_timed_here() -> None:
    train = {"budget": "env_steps=100", "val_tasks": 8, "train_batch_size": 8}
    found = estimate.estimate_of(
        config(agent="ppo", model="tiny", env='math500_hard@{"level": 1}', limit=5, train=train)
    )
    shown = found.to_json()
    assert shown["episodes"]["base"] == shown["episodes"]["test"] == 5
    assert shown["episodes"]["training"] >= 100 / (found.turns_per_episode or 0)
    assert shown["episodes"]["validation"] % 8 == 0
    assert shown["seconds_here"] > 0 and shown["memory_bytes"] > 3_674_368 * 16 and not shown["missing"]
    text = found.to_text()
    assert "time here: about" in text and "validation" in text


def test_a_served_model_takes_the_stated_seconds_a_call() -> None:
    found = estimate.estimate_of(config(agent="react", model="m", base_url=SERVER, limit=3, concurrency=1))
    assert found.seconds_here == pytest.approx(3 * (found.turns_per_episode or 0) * estimate.SECONDS_PER_CALL)
    assert found.memory_bytes == 0 and found.missing == ()
    assert "set --price" in found.to_text() and "time with a server" in found.to_text()


def test_prices_and_servers_are_named_only_where_one_answers() -> None:
    local = config(agent="react", model="tiny", env="first_steps", limit=2)
    text = estimate.estimate_of(local).to_text()
    assert "price" not in text and "server" not in text and "time here" in text
    assert "cost: about US$" in estimate.estimate_of(local.changed(price="1,2")).to_text()
    user = local.changed(env="tau_retail", user_model="m", user_base_url=SERVER)
    assert "set --price" in estimate.estimate_of(user).to_text()


def test_answers_that_are_actions_alone_are_as_long_as_the_oracles() -> None:
    """first_steps has prompts of its own; elsewhere, and in other roles, an answer is longer."""
    served = config(env="first_steps", agent="react", model="m", base_url=SERVER, limit=20)
    found = estimate.estimate_of(served)
    turns = round(20 * (found.turns_per_episode or 0))
    assert 3 * turns <= (found.completion_tokens or 0) <= 12 * turns
    other = estimate.estimate_of(served.changed(env="twenty_questions"))
    assert other.completion_tokens == pytest.approx(20 * 150 * (other.turns_per_episode or 0))

    def generated(agent: str, policy: int | None, *, budget: str = "env_steps=100", **settings: Any) -> float:
        train = {"budget": budget}
        trained = config(env="first_steps", agent=agent, model="m-1b", train=train, **settings)
        return training_estimate_of(trained, 100, 1.0, policy_tokens=policy).generated_tokens or 0

    assert generated("grpo", 6) == 6 * 100 and generated("grpo", None) == 150 * 100
    assert 6 * 100 < generated("nlac", 6) < generated("nlac", None)
    alone = {"budget": "steps=9", "offline": "runs/earlier"}
    assert generated("rft", 6, **alone) == 0 < generated("nlac", 6, **alone), "roles answer offline too"
    assert generated("nlac", 6, **alone) < generated("nlac", 6, budget="steps=9")


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (found,) = missing(config(agent="act", model="gpt-5"))
    assert "OPENAI_API_KEY" in found.fix
    assert not missing(config(agent="act", model="m", base_url=SERVER))
    assert not missing(config(agent="oracle"))


@pytest.mark.usefixtures("empty_machine")
def test_a_model_folder_that_does_not_exist_is_refused_and_one_that_can_be_fetched_is_missing() -> None:
    for refused in (missing, refuse_missing, estimate.estimate_of):
        with pytest.raises(NlacBenchError, match="--model names the model folder /no/such, which does not"):
            refused(config(agent="react", model="/no/such"))
        with pytest.raises(NlacBenchError, match="--user-model names the model folder /no/such, which does"):
            refused(config(agent="react", model="tiny", user_model="/no/such"))
    (found,) = missing(config(agent="react", model="Qwen/Qwen2.5-7B"))
    assert found.what == "the weights of Qwen/Qwen2.5-7B, which are not in the Hugging Face cache"


@pytest.mark.parametrize(
    ("agent", "model", "said"),
    [
        ("nosuch", None, "no agent is named 'nosuch'; the agents are silent"),
        ("react", None, "agent 'react' needs a model; set --model"),
        ("react", "tiny", None),
        ("random", None, None),
    ],
)
def test_an_agent_that_run_refuses_is_refused_here(agent: str, model: str | None, said: str | None) -> None:
    asked = config(env="math500_hard", agent=agent, limit=2, **({} if model is None else {"model": model}))
    if said is None:
        assert estimate.estimate_of(asked).planned == 2
        return
    for refused in (lambda: estimate.estimate_of(asked), lambda: prepare(asked)):
        with pytest.raises(NlacBenchError, match=said):
            refused()


def test_prompts_are_counted_with_instructions_and_template_and_answers_up_to_their_limit() -> None:
    """The policy's first prompts, as the run sends them, and the limit of --max-tokens."""
    asked = config(env="first_steps", agent="react", model="tiny", limit=4, max_tokens=9)
    planned, engine = outline(asked), UnloadedEngine(asked)
    agent, env = agent_of(planned, engine), scripted_env(planned)
    for item in planned.plan:
        observation, info = env.reset(seed=0, options={"task_id": item.task_id})
        asyncio.run(agent.begin(env, 0).act(observation, info))
    sent = sum(map(engine.tokens, engine.asked))
    found = estimate.estimate_of(asked)
    assert found.prompt_tokens == pytest.approx(sent, rel=0.01) and sent > 4 * 60
    assert found.completion_tokens == 4 * 9
    assert estimate.estimate_of(asked.changed(max_tokens=500)).completion_tokens == 4 * 25


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"agent": "react", "model": "tiny", "base_url": SERVER, "engine": "hf"}, "runs the model in this"),
        ({"agent": "react", "model": "tiny", "request": {"stream": True}}, "sends no requests to a server"),
        ({"agent": "nlac", "model": "tiny", "train": {}, "base_url": SERVER}, "cannot be trained"),
        ({"agent": "tool_calling", "model": "tiny"}, "because of its chat template"),
        ({"agent": "react", "model": "tiny", "prompts": "no/such/folder"}, "no/such/folder"),
        ({"agent": "react", "base_url": SERVER}, "--base-url needs --model NAME"),
        ({"agent": "react", "model": "m", "base_url": "http://a b/v1"}, "contains white space"),
        ({"agent": "react", "model": "m", "base_url": "localhost:8000"}, "must begin with http"),
        (
            {"agent": "react", "model": "m", "base_url": SERVER, "user_model": "m", "user_base_url": "h"},
            "base-url 'h' is not",
        ),
    ],
)
def test_settings_that_run_refuses_are_refused_here(settings: dict[str, Any], said: str) -> None:
    asked = config(limit=1, **settings)
    for refused in (lambda: estimate.estimate_of(asked), lambda: prepare(asked)):
        with pytest.raises(NlacBenchError, match=said):
            refused()


@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        ("system", "the system text does not reach the prompt"),
        ("assistant", "a reply does not reach the prompt"),
        ("", None),
    ],
)
def test_a_template_that_leaves_out_texts_is_refused(left_out: str, said: str | None, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny.path("tiny"), tmp_path / "model"))
    each = "{{ m.role }}: {{ m.content }}"
    (folder / "chat_template.jinja").write_text(
        f"{{% for m in messages if m.role != '{left_out}' %}}{each}{{% endfor %}}"
    )
    asked = config(agent="react", model=str(folder), limit=1)
    for made in (lambda: estimate.estimate_of(asked), lambda: prepare(asked)):
        if said is None:
            made()
        else:
            with pytest.raises(NlacBenchError, match=f"because of its chat template: {said}"):
                made()


def test_a_proxy_that_run_cannot_use_is_refused_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "foo://x")
    asked = config(limit=1, agent="react", model="m", base_url="http://server.example/v1")
    for refused in (lambda: estimate.estimate_of(asked), lambda: prepare(asked)):
        with pytest.raises(NlacBenchError, match="unset ALL_PROXY"):
            refused()


def test_durations_and_counts_are_readable() -> None:
    shown = {s: duration(s) for s in (0.4, 1, 119, 120, 7199, 7200, 172_799, 172_800, 6e7, 6.4e7, 1.4e11)}
    assert list(shown.values()) == [
        "less than 1 s", "about 1 s", "about 119 s", "about 2 min", "about 120 min", "about 2 h",
        "about 48 h", "about 2 days", "about 690 days", "about 2 years", "about 4,400 years",
    ]  # fmt: skip
    assert [digits(x) for x in (4.2e6, 390_123_456_789, 1.25, 3, 0.034)] == [
        "4,200,000", "390,000,000,000", "1.2", "3", "0.034",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("composed", "agent", "read", "written"),
    [({"refine": 2}, "nlac", 7, 7), ({"best_of": 4}, "nlac", 9, 12), ({"best_of": 4}, "rft", 6, 9),
     ({"best_of": 4}, "agent_prm", 5, 4), ({"best_of": 2}, "react", 4, 5)],
)  # fmt: skip
def test_what_plays_at_test_time_is_estimated(
    composed: dict[str, int], agent: str, read: int, written: int
) -> None:
    served = {"agent": agent, "model": "m", "base_url": SERVER, "limit": 3, "temperature": 1.0}
    plain, other = (estimate.estimate_of(config(**served, **more)) for more in ({}, composed))
    assert plain.prompt_tokens and plain.completion_tokens
    longer = 0.05  # prompts of roles have instructions of their own
    assert other.prompt_tokens == pytest.approx(read * plain.prompt_tokens, rel=longer)
    assert other.completion_tokens == pytest.approx(written * plain.completion_tokens, rel=1e-3)
    assert other.tokens == pytest.approx(
        (other.prompt_tokens or 0) + (other.completion_tokens or 0), rel=1e-3
    )


@pytest.mark.usefixtures("empty_machine")
@pytest.mark.parametrize(("device", "least", "most"), [("cuda", 0.4, 0.9), ("cpu", 0.005, 0.15)])
def test_forward_passes_and_repeated_beginnings_are_not_counted_as_training(
    monkeypatch: pytest.MonkeyPatch, device: str, least: float, most: float
) -> None:
    """Half of GRPO's passes have no gradient; a group has one prompt, and a turn repeats the earlier ones."""
    monkeypatch.setattr(estimate, "this_machine", lambda: (False, device))
    train = {"budget": "steps=1000"}
    grpo = config(env="shop_worlds", agent="grpo", model="Qwen/Qwen2.5-7B", train=train)
    found = estimate.estimate_of(grpo)
    training = found.training
    assert training and training.parameters and training.trained_tokens and found.tokens
    assert least < training.operations / (6 * training.trained_tokens) < most
    second = 1e11 / training.parameters  # operations per parameter in a second
    learning = training.operations / second
    assert learning < (found.seconds_here or 0) <= learning + 2 * found.tokens / second
