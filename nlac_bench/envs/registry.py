"""Makes environments by name: built-in ids, plug-ins, Gymnasium ids and strings ``Name@{json}``."""

import importlib
import importlib.metadata
import importlib.util
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.envs.registration import load_env_creator
from gymnasium.error import Error as GymnasiumError

from nlac_bench import installed
from nlac_bench.envs.env_string import parse
from nlac_bench.envs.foreign import ForeignCodeError, described, load_factory
from nlac_bench.errors import SIGNALS, ConfigError, NlacBenchError, UnknownIdError

if TYPE_CHECKING:
    from nlac_bench.envs.text_env import TextEnv

BUILTIN = {
    "math500_hard": ("nlac_bench/Math500Hard-v0", "nlac_bench.envs.math500_hard:Math500HardEnv"),
    "twenty_questions": (
        "nlac_bench/TwentyQuestions-v0",
        "nlac_bench.envs.twenty_questions:TwentyQuestionsEnv",
    ),
    "tau_retail": ("nlac_bench/TauRetail-v0", "nlac_bench.envs.tau:TauRetailEnv"),
    "tau_airline": ("nlac_bench/TauAirline-v0", "nlac_bench.envs.tau:TauAirlineEnv"),
    "shop_worlds": ("nlac_bench/ShopWorlds-v0", "nlac_bench.envs.shop_worlds:ShopWorldsEnv"),
    "first_steps": ("nlac_bench/FirstSteps-v0", "nlac_bench.envs.first_steps:FirstStepsEnv"),
}
"""CLI name → (Gymnasium id, entry point)."""

BUILTIN_WITH_ARGUMENTS = {
    "prompts": "nlac_bench.envs.prompts:PromptsEnv",
    "openenv": "nlac_bench.bridges.openenv_env:OpenEnvEnv",
    "reasoning_gym": "nlac_bench.bridges.reasoning_gym:ReasoningGymEnv",
    "browsergym": "nlac_bench.bridges.browsergym:BrowserGymEnv",
    "miniwob": "nlac_bench.bridges.browsergym:MiniWobEnv",
}
"""CLI name → entry point of environments that are made with arguments only, and have no Gymnasium id."""

PLUGIN_GROUP = "nlac_bench.envs"

MAX_NAME_CHARS = 500


class EnvArgumentsError(ConfigError, TypeError):
    """An environment's constructor does not accept the arguments; also a ``TypeError``, as in Gymnasium."""


@dataclass(frozen=True)
class EnvEntry:
    """The way to make the environment of a name."""

    name: str
    env_id: str | None
    """Its Gymnasium id; None for a plug-in, which is made directly."""
    origin: str
    make: Callable[..., gymnasium.Env[str, str]]


def register_builtin() -> None:
    """Register the built-in environments with Gymnasium, without importing them."""
    for env_id, entry_point in BUILTIN.values():
        if env_id not in gymnasium.registry:
            gymnasium.register(
                env_id,
                entry_point=entry_point,
                vector_entry_point=f"{entry_point}Vector",
                # A malformed action is a counted step with a message. Gymnasium's passive checker would raise
                # an exception before the environment receives the action.
                disable_env_checker=True,
            )


def make(text: str, **kwargs: Any) -> gymnasium.Env[str, str]:
    """Make the environment named ``text``, as ``gymnasium.make`` does.

    Args:
        text: a CLI name (``tau_retail``), a Gymnasium id (``nlac_bench/TauRetail-v0``,
            ``my_pkg:MyEnv-v0``), a plug-in's name, or one of these with constructor arguments in JSON:
            ``tau_retail@{"split": "train"}``. The short name of a built-in id (``TauRetail``) works too.
        kwargs: constructor arguments; they override those in ``text``.

    Raises:
        UnknownIdError: no environment has that name.
        ValueError: what follows ``@`` is not a JSON object, or an argument is out of range.
        EnvArgumentsError: an argument has an unknown name or a wrong type.
        NlacBenchError: the constructor raised another exception, or ``SystemExit``.
    """
    name, config = parse(text)
    return construct(find(name), {**config, **kwargs})


def construct(entry: "EnvEntry", arguments: Mapping[str, Any]) -> gymnasium.Env[str, str]:
    """Make the environment of ``entry``.

    Raises:
        NlacBenchError: as ``make``, or the ``max_steps`` of a ``TextEnv`` is not an int of at least 1.
    """
    from nlac_bench.envs.text_env import TextEnv

    try:
        env = entry.make(**arguments)
    except (NlacBenchError, GymnasiumError, ValueError, OSError, *SIGNALS):
        raise
    except TypeError as error:
        unknown = _UNKNOWN_ARGUMENT.search(str(error))
        cause = described(error)
        if unknown and unknown[1] in arguments:
            cause = (
                f"it has no argument {unknown[1]!r}; nlac-bench envs show {entry.name} lists its arguments"
            )
        raise EnvArgumentsError(f"{entry.name} {_cannot_be_made(arguments, cause)}") from error
    except BaseException as error:
        raise ForeignCodeError(f"{entry.name} {_cannot_be_made(arguments, described(error))}") from error
    if isinstance(env.unwrapped, TextEnv):
        limit = getattr(env.unwrapped, "max_steps", None)
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise NlacBenchError(
                f"{entry.name} has max_steps = {limit!r:.80}; set it to an int of at least 1 in the class"
            )
    return env


_UNKNOWN_ARGUMENT = re.compile(r"__init__\(\) got an unexpected keyword argument '(\w+)'")


def _cannot_be_made(arguments: Mapping[str, Any], cause: str) -> str:
    return f"cannot be made with the arguments {', '.join(arguments) or '(none)'}: {cause}"


def make_playable(text: str, *, episodes: int | None = None, **kwargs: Any) -> gymnasium.Env[str, str]:
    """Make an environment for agents, whose ``unwrapped`` is a ``TextEnv``.

    A plain Gymnasium environment is wrapped in a ``PlainEnv``, which gives it tasks, splits and forks.

    Args:
        episodes: how many tasks a plain environment has; by default 100, or 1,000 in split ``train``. Other
            environments have their own tasks.

    Raises:
        NlacBenchError: observations or actions of a plain environment are not text.
    """
    from nlac_bench.envs.adapter import PlainEnv
    from nlac_bench.envs.text_env import TextEnv

    name, stated = parse(text)
    arguments = {**stated, **kwargs}
    try:
        env = construct(find(name), arguments)
    except TypeError:
        env = construct(find(name), {each: arguments[each] for each in arguments if each != "split"})
        if isinstance(env.unwrapped, TextEnv):
            raise
    if isinstance(env.unwrapped, TextEnv):
        return env
    return PlainEnv(env, find(name).name, str(arguments.get("split", "test")), episodes)


def make_text_env(text: str, **kwargs: Any) -> "TextEnv":
    """Make a ``TextEnv`` as ``make_playable`` does, without wrappers."""
    env: TextEnv = make_playable(text, **kwargs).unwrapped  # type: ignore[assignment]
    return env


def make_training_env(text: str, **kwargs: Any) -> "TextEnv":
    """Make the environment's training split, without wrappers.

    Official data without a training split (τ-airline's) are replaced by the embedded ones.

    Raises:
        NlacBenchError: the constructor of a ``TextEnv`` takes no argument ``split``.
    """
    try:
        return _make_split(text, "train", kwargs)
    except TypeError as error:
        raise NlacBenchError(
            f"{text} cannot be trained on: its constructor does not accept split='train'. Add an "
            "argument split, and play other tasks in split 'train' than in split 'test'"
        ) from error


def make_validation_env(text: str, splits: Sequence[str], **kwargs: Any) -> "TextEnv":
    """Make the environment with the tasks on which a training run validates, without wrappers.

    It is the split ``validation`` if that is one of ``splits``, else the training split.

    Args:
        splits: those of the training split (``TextEnv.splits``).
    """
    return _make_split(text, "validation" if "validation" in splits else "train", kwargs)


def _make_split(text: str, split: str, arguments: Mapping[str, Any]) -> "TextEnv":
    try:
        return make_text_env(text, **{**arguments, "split": split})
    except UnknownIdError:
        return make_text_env(text, **{**arguments, "split": split, "data": "embedded"})


def find(name: str) -> EnvEntry:
    """Return the entry of the environment named ``name`` (without ``@{json}``).

    Raises:
        UnknownIdError: no environment has that name (the message lists the known names), or it is a plug-in
            that cannot be used (the message says why).
    """
    if len(name) > MAX_NAME_CHARS:
        raise UnknownIdError(f"no environment is named {name!r:.80}…, which has {len(name):,} characters")
    if (cli_name := _builtin(name)) is not None:
        env_id = BUILTIN[cli_name][0]
        return EnvEntry(cli_name, env_id, "built-in", _gymnasium_maker(env_id))
    if name in BUILTIN_WITH_ARGUMENTS:
        module, _, attribute = BUILTIN_WITH_ARGUMENTS[name].partition(":")
        return EnvEntry(name, None, "built-in", getattr(importlib.import_module(module), attribute))
    for point in installed.entry_points(PLUGIN_GROUP):
        if point.name == name:
            return _plugin(point)
    module, _, env_id = name.rpartition(":")
    try:
        if module:
            import_module(module)  # the import registers its ids, as in "my_pkg:MyEnv-v0"
        spec = gymnasium.spec(env_id)
    except SIGNALS:
        raise
    except BaseException as error:  # the module may raise anything on import
        if module not in sys.modules and (where := _failed_in(module, error)):
            what = f"module {module!r} of {name!r} cannot be imported"
            raise UnknownIdError(f"{what}: {described(error)} ({where})") from None
        plugged = (point.name for point in installed.entry_points(PLUGIN_GROUP))
        known = ", ".join(sorted({*BUILTIN, *BUILTIN_WITH_ARGUMENTS, *plugged}))
        raise UnknownIdError(
            f"no environment is named {name!r} ({_why(module, error)}). Available: {known}, "
            "any Gymnasium id with text observations and actions ('my_pkg:MyEnv-v0'), each also with "
            "'@{json arguments}'"
        ) from None
    return EnvEntry(spec.id, spec.id, "gymnasium", _gymnasium_maker(spec.id))


def class_of(text: str) -> object:
    """Return the class of the environment named ``text``, or the function that makes it; makes none.

    Raises:
        UnknownIdError: no environment has that name.
    """
    entry = find(parse(text)[0])
    if entry.env_id is None:
        return entry.make
    where = gymnasium.spec(entry.env_id).entry_point
    return load_env_creator(where) if isinstance(where, str) else where


def _builtin(name: str) -> str | None:
    """Return the CLI name of the built-in environment ``name``; None for other environments."""
    for cli_name, (env_id, _) in BUILTIN.items():
        if name in (cli_name, env_id, env_id.split("/")[1].rsplit("-v", 1)[0]):
            return cli_name
    return None


def is_known(name: str) -> bool:
    """Return whether ``name`` is a built-in environment, or one that an installed package registers as such.

    Other names are those of Gymnasium ids and of modules. Nothing is imported to find out.
    """
    if _builtin(name) is not None or name in BUILTIN_WITH_ARGUMENTS:
        return True
    return any(point.name == name for point in installed.entry_points(PLUGIN_GROUP))


def canonical_name(name: str) -> str:
    """Return ``find(name).name`` without importing anything; the environment may not exist."""
    return _builtin(name) or (name if is_known(name) else name.rpartition(":")[2])


def module_of(text: str) -> str:
    """Return the module that making the environment ``text`` imports by name; empty if there is none."""
    name = text.partition("@")[0]
    module = name.rpartition(":")[0]
    return "" if not module or is_known(name) else module


def import_module(module: str) -> None:
    """Import ``module``, which is also searched in the current folder, after all other places.

    The current folder is added to ``sys.path`` only here. It may be one that somebody else sent, and any
    import of a package that is not installed would find files in it.
    """
    top = module.partition(".")[0]
    if top not in sys.modules:
        spec = importlib.util.find_spec(top)
        if spec is None or spec.origin is None:  # not found, or a folder without __init__.py
            sys.path.append(str(Path.cwd()))
    importlib.import_module(module)


def iter_plugins() -> Iterator[EnvEntry]:
    """Yield the environments of installed packages: entry points of group ``nlac_bench.envs``.

    The entry point's name is the environment's name, its value an environment class or a function that
    returns an environment. One that cannot be imported is skipped with a warning.
    """
    for point in installed.entry_points(PLUGIN_GROUP):
        try:
            yield _plugin(point)
        except UnknownIdError as error:
            warnings.warn(f"{error}; the environment is skipped", stacklevel=2)


def _plugin(point: importlib.metadata.EntryPoint) -> EnvEntry:
    """Import the environment of an entry point; raise UnknownIdError if it cannot be used."""
    factory = load_factory(point, "environment")
    return EnvEntry(point.name, None, f"plug-in {point.value}", factory)


def _failed_in(module: str, error: BaseException) -> str:
    """Return the line of ``module`` that raised ``error``, as ``myenv.py, line 7``; empty if none did."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}, line {error.lineno}"
    parts = module.split(".")
    folders = ["/".join(parts[: i + 1]) for i in range(len(parts))][:50]
    own = tuple(f"/{folder}{end}" for folder in folders for end in (".py", "/__init__.py"))
    lines = [
        each
        for each in traceback.extract_tb(error.__traceback__)
        if Path(each.filename).as_posix().endswith(own)
    ]
    return f"{Path(lines[-1].filename).name}, line {lines[-1].lineno}" if lines else ""


def _why(module: str, error: BaseException) -> str:
    reason = str(error) if isinstance(error, GymnasiumError | ImportError) else described(error)
    if module and module in sys.modules:
        return f"module {module!r} registers no such id: {reason}"
    if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
        return f"there is no module {error.name!r} in this folder or among the installed packages"
    return reason


def _gymnasium_maker(env_id: str) -> Callable[..., gymnasium.Env[str, str]]:
    def make_it(**kwargs: Any) -> gymnasium.Env[str, str]:
        return gymnasium.make(env_id, **kwargs)

    return make_it
