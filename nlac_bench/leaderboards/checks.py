"""The checks of a run before it becomes an entry; each has a name, the expected and the found value."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from nlac_bench.errors import ConfigError, EnvInfraError
from nlac_bench.harness.measure.environment import Environments, conditions
from nlac_bench.harness.measure.offline import ROLLOUTS
from nlac_bench.harness.measure.simulator import simulator_settings
from nlac_bench.harness.measure.weights import weights_of, weights_sha256
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import read_lines
from nlac_bench.harness.runs.manifest import differences
from nlac_bench.harness.runs.seeds import episode_seed
from nlac_bench.harness.runs.trust import refuse_unrepeated
from nlac_bench.harness.runs.writer import as_stored
from nlac_bench.leaderboards.costs import faults_of_costs, faults_of_tokens, has_model, tokenizer_at_hand
from nlac_bench.leaderboards.entry import RunOutcomes
from nlac_bench.leaderboards.from_run import WORLD, base_of, is_path, seed_of
from nlac_bench.leaderboards.replay import replay
from nlac_bench.rollout.recorded_calls import phase_scope, replaying
from nlac_bench.training.curve import tested_weights
from nlac_bench.training.untrained import BASE
from nlac_bench.types import ChatReply, Messages, Role

COMPLETE = "episodes complete"
FULL_SPLIT = "plan is the full split"
MAY_BE_PARTIAL = frozenset({COMPLETE, FULL_SPLIT})
"""Names of checks; a run that fails only these can be submitted with ``--partial``."""


@dataclass(frozen=True)
class Check:
    """A check of a run, with plain JSON values."""

    name: str
    ok: bool
    expected: object
    found: object

    def to_json(self) -> dict[str, object]:
        """Return a plain dict."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.name}: expected {self.expected}, found {self.found}"


def equal(name: str, expected: object, result: object) -> Check:
    """Return a check that holds if the two are equal."""
    return Check(name, expected == result, expected, result)


def none_of(name: str, faults: Sequence[str], expected: str) -> Check:
    """Return a check that holds if there are no ``faults``; it shows the first and counts the others."""
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return Check(name, not faults, expected, f"{faults[0]}{more}" if faults else expected)


async def _unrecorded(messages: Messages, role: Role) -> ChatReply:
    raise EnvInfraError(
        f"the replies of the {role} were not recorded, so this run cannot be played again; measure it with "
        "--record FILE"
    )


def trusted_config(run: RunFolder, env: str | None) -> RunConfig:
    """Return the configuration of ``run``, whose folder may come from somebody else.

    Args:
        env: repeats the environment, where it imports code or writes to a file.

    Raises:
        ConfigError: the configuration is invalid, or ``env`` does not repeat the environment and has to.
    """
    source = run.path / "config.json"
    if module := named_agents.module_of(str(run.config.get("agent"))):
        raise ConfigError(
            f"{source}: the agent is of the module {module!r:.200}, which is not imported for a run of "
            "somebody else; install it with an entry point (docs/plugins.md), and measure with its name"
        )
    refuse_unrepeated({"env": run.config.get("env")}, {"env": env}, source, "add to the command:")
    if env is not None and env != run.config.get("env"):
        raise ConfigError(f"--env {env}: {source} has {run.config.get('env')!r:.200}; repeat that value")
    return RunConfig.from_stored(run.config, str(source))


def run_checks(run: RunFolder, config: RunConfig, outcomes: RunOutcomes) -> Iterator[Check]:
    """Yield the checks of one run that do not play its actions again.

    Raises:
        NlacBenchError: the environment cannot be made, or the folder is damaged.
    """
    states = [state for task in outcomes.tasks.values() for state in task.state]
    missing = {name: states.count(name) for name in ("owed", "infra")}
    yield equal(COMPLETE, {"owed": 0, "infra": 0}, missing)
    # All tasks of the split, whatever the run selected; ``limit`` is also the size of a plain environment.
    simulated = config.user_model is not None or config.replay is not None
    env = Environments(config.changed(limit=None, tasks=None), _unrecorded if simulated else None).measured
    stated = as_stored(conditions(config, env))
    yield none_of(
        "conditions are those of configuration and environment",
        differences(run.conditions, stated),
        "the same environment, version, arguments, data, reward, simulator and limits",
    )
    given = {**_given_subject(run, config), "world": env.played_world}
    yield none_of(
        "subject is that of the configuration",
        differences({name: run.subject.get(name) for name in given}, given),
        "the same agent, model, sampling and training",
    )
    yield from _weights_checks(run, config)
    yield _full_split(run, env.task_ids)
    base_seed = seed_of(run)
    yield none_of(
        "seeds follow the rule",
        [
            f"task {item.task_id!r:.200}, trial {item.trial} has seed {item.seed}, the rule gives {right}"
            for item in run.plan
            if item.seed != (right := episode_seed(base_seed, item.task_id, item.trial))
        ],
        "the hash of base seed, task and trial",
    )
    yield none_of("limits hold", list(_beyond_limits(run)), "no episode beyond the limits of the run")
    if has_model(config):
        faults = list(faults_of_costs(run))
        yield none_of("a model acted", faults, "calls and tokens of a model for each action")
    yield none_of("rewards agree with their parts", list(_other_rewards(run)), "sums of rewards as recorded")
    if run.subject.get("train") is not None:
        yield none_of(
            "test tasks are not trained on", list(_leaks(run)), "no training episode of a test task"
        )
        base = base_of(run)
        faults = [] if base is not None else ["no run of the untrained model"]
        if base is not None:
            faults = differences(run.conditions, base.conditions)
            faults += [] if base.plan == run.plan else ["tasks, trials or seeds differ"]
            faults += [f"{len(owed)} of its episodes are missing"] if (owed := base.owed()) else []
        yield none_of("the untrained model played the same", faults, "a complete run on the same plan")


def _weights_checks(run: RunFolder, config: RunConfig) -> Iterator[Check]:
    """Yield checks of whether weights are identified, and are those of the folders that are still there."""
    measured = run.subject.get("weights")
    if measured is None and config.model is not None and is_path(config.model):
        fault = f"the path {config.model!r:.200}, whose weights are not known"
        yield none_of(
            "the model is identified",
            [fault],
            "the hash of the weights, which `eval` with a folder of this machine records, or the name of a "
            "model (a server has --served-model-name)",
        )
    name = "the weights are those that were measured"
    if measured is not None and (weights := weights_of(config.model)) is not None:
        yield equal(name, weights["sha256"], dict(measured).get("sha256"))
    best = run.path / "checkpoints" / "best"
    if (tested := tested_weights(run)) is not None and (found := weights_sha256(best)) is not None:
        yield equal(f"{name}, in {best.name}", found, tested)


def token_check(run: RunFolder, config: RunConfig) -> Iterator[Check]:
    """Yield the check of token counts against the texts, if the model's tokenizer is on this machine.

    Raises:
        NlacBenchError: the tokenizer cannot be loaded.
    """
    tokenizer = tokenizer_at_hand(config) if has_model(config) else None
    if tokenizer is not None:
        faults = list(faults_of_tokens(run, tokenizer))
        yield none_of("token counts fit the texts", faults, "as many tokens as the model's tokenizer counts")


def replay_check(run: RunFolder, config: RunConfig) -> Check:
    """Play every action of ``run``, and of its untrained model, again.

    Raises:
        NlacBenchError: the environment cannot be played, or a simulator's reply is not in its recording.
    """
    recording = config.record or config.replay
    chat = None
    if recording is not None:
        chat = replaying(recording, simulator_settings(config))
    elif config.user_model is not None:
        chat = _unrecorded
    make_env = Environments(config, chat).make_env
    base = base_of(run)
    faults = replay(run, make_env)
    if base is not None:
        with phase_scope(BASE):
            faults += [f"untrained model: {fault}" for fault in replay(base, make_env)]
    return none_of("replayed actions have the recorded results", faults, "the same bytes")


def _given_subject(run: RunFolder, config: RunConfig) -> dict[str, object]:
    """Return the part of a run's subject that its configuration alone determines."""
    sampled = run.subject.get("engine") is not None
    return as_stored(
        {
            "agent": config.agent,
            "model": config.model,
            "temperature": config.temperature if sampled else None,
            "max_tokens": config.max_tokens if sampled else None,
            "train": None if config.train is None else config.train.subject(),
            "offline": config.offline,
            "refine": config.refine,
            "best_of": config.best_of,
        }
    )


def _full_split(run: RunFolder, task_ids: Sequence[str]) -> Check:
    trials = max(item.trial for item in run.plan) + 1
    planned, wanted = {item.key for item in run.plan}, {(t, i) for t in task_ids for i in range(trials)}
    faults = [f"task {task!r:.200}, trial {trial} is not planned" for task, trial in sorted(wanted - planned)]
    faults += [f"task {task!r:.200} is not in the split" for task, _ in sorted(planned - wanted)]
    return none_of(FULL_SPLIT, faults, f"{len(task_ids)} tasks with {trials} trials each")


def _beyond_limits(run: RunFolder) -> Iterator[str]:
    turns, seconds = run.conditions.get("max_turns"), run.conditions.get("max_seconds")
    for episode in run.episodes():
        where = f"task {episode.task_id!r:.200}, trial {episode.trial}"
        if turns is not None and len(episode.turns) > turns:
            yield f"{where} has {len(episode.turns)} turns, with max_turns {turns}"
        if episode.end_reason == "turn_limit" and len(episode.turns) != turns:
            yield f"{where} ended by turn_limit after {len(episode.turns)} turns, with max_turns {turns}"
        if episode.end_reason == "time_limit" and seconds is None:
            yield f"{where} ended by time_limit, and max_seconds is not set"


def _other_rewards(run: RunFolder) -> Iterator[str]:
    """Yield the episodes whose rewards are not the part of the reward that the conditions name."""
    part = run.conditions.get("reward")
    for episode in run.episodes():
        parts = episode.info.get("reward_parts")
        recorded = parts.get(part) if isinstance(parts, dict) else None
        if isinstance(recorded, int | float) and repr(float(recorded)) != repr(float(episode.total_reward)):
            yield (
                f"task {episode.task_id!r:.200}, trial {episode.trial} has rewards with sum "
                f"{episode.total_reward:g}, and {part} = {recorded:g}"
            )


def _leaks(run: RunFolder) -> Iterator[str]:
    tested = {item.task_id for item in run.plan}
    path = run.path / ROLLOUTS
    if run.subject.get("offline") is None and not path.exists():
        yield f"{ROLLOUTS}, which lists the training episodes, is missing"
    leaked = {task for row, _ in read_lines(path) if (task := str(row.get("task_id"))) in tested}
    for task in sorted(leaked):
        yield f"task {task!r:.200} was trained on"


def joined_checks(runs: Sequence[RunFolder]) -> Iterator[Check]:
    """Yield checks of whether several runs are seeds of one algorithm on the same tasks."""
    first = runs[0]
    for what in ("conditions", "subject"):
        faults = [
            f"{run.path.name}: {fault}"
            for run in runs[1:]
            for fault in differences(_without_world(getattr(first, what)), _without_world(getattr(run, what)))
        ]
        yield none_of(f"the seeds have the same {what}", faults, "no difference but the seed and the world")
    seeds = [seed_of(run) for run in runs]
    yield Check("the seeds differ", len(set(seeds)) == len(seeds), "no seed twice", seeds)
    keys = [{item.key for item in run.plan} for run in runs]
    yield equal("the seeds have the same plan", True, all(each == keys[0] for each in keys))


def _without_world(content: Mapping[str, object]) -> dict[str, object]:
    results = {name: value for name, value in content.items() if name != WORLD}
    if isinstance(arguments := results.get("env_args"), dict):
        results["env_args"] = {name: value for name, value in arguments.items() if name != WORLD}
    return results
