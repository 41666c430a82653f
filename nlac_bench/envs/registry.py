"""Makes environments by name: built-in ids, plug-ins, Gymnasium ids and strings ``Name@{json}``."""

import importlib
import importlib.metadata
import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.error import Error as GymnasiumError

from nlac_bench.errors import NlacBenchError, UnknownIdError

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
}
"""CLI name → (Gymnasium id, entry point)."""

PLUGIN_GROUP = "nlac_bench.envs"


@dataclass(frozen=True)
class EnvEntry:
    """How to make an environment that has a name."""

    name: str
    env_id: str | None
    """Its Gymnasium id; None for a plug-in, which is made directly."""
    origin: str
    make: Callable[..., gymnasium.Env[str, str]]


def register_builtin() -> None:
    """Register the four built-in environments with Gymnasium, without importing them."""
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
        ValueError: what follows ``@`` is not a JSON object.
    """
    name, config = parse(text)
    return find(name).make(**{**config, **kwargs})


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

    split = kwargs.get("split", "test")
    try:
        env = make(text, **kwargs)
    except TypeError:
        env = make(text, **{name: value for name, value in kwargs.items() if name != "split"})
        if isinstance(env.unwrapped, TextEnv):
            raise
    if isinstance(env.unwrapped, TextEnv):
        return env
    return PlainEnv(env, find(parse(text)[0]).name, split, episodes)


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
    kwargs = {**kwargs, "split": "train"}
    try:
        return make_text_env(text, **kwargs)
    except UnknownIdError:
        return make_text_env(text, **{**kwargs, "data": "embedded"})
    except TypeError as error:
        raise NlacBenchError(
            f"{text} cannot be trained on: its constructor does not accept split='train'. Add an "
            "argument split, and play other tasks in split 'train' than in split 'test'"
        ) from error


def check_training(text: str, **kwargs: Any) -> None:
    """Raise if an environment cannot be trained on, before any episode is played.

    Args:
        text: as for ``make``.
        kwargs: as for ``make_training_env``.

    Raises:
        NlacBenchError: the training split cannot be made; or a plain environment does not report success or
            cannot be copied (see ``adapter.check_trainable``).
    """
    from nlac_bench.envs.adapter import PlainEnv, check_trainable

    env = make_training_env(text, **kwargs)
    try:
        if isinstance(env, PlainEnv):
            check_trainable(env)
    finally:
        env.close()


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """Split an environment string ``Name@{json}`` into name and constructor arguments."""
    name, at, config = text.partition("@")
    if not at:
        return name, {}
    try:
        kwargs = json.loads(config)
    except ValueError as error:
        raise ValueError(f"environment string {text!r}: what follows '@' is not JSON ({error})") from None
    if not isinstance(kwargs, dict):
        raise ValueError(
            f'environment string {text!r}: what follows \'@\' must be an object, such as {{"split": "train"}}'
        )
    return name, kwargs


def join(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the environment string of ``name`` with ``arguments``; the inverse of ``parse``."""
    return f"{name}@{json.dumps(dict(arguments))}" if arguments else name


def find(name: str) -> EnvEntry:
    """Return the entry of the environment named ``name`` (without ``@{json}``).

    Raises:
        UnknownIdError: no environment has that name; the message lists the known names.
    """
    for cli_name, (env_id, _) in BUILTIN.items():
        if name in (cli_name, env_id, env_id.split("/")[1].rsplit("-v", 1)[0]):
            return EnvEntry(cli_name, env_id, "built-in", _gymnasium_maker(env_id))
    plugins = {entry.name: entry for entry in iter_plugins(only=name)}
    if name in plugins:
        return plugins[name]
    module, _, env_id = name.rpartition(":")
    try:
        if module:
            importlib.import_module(module)  # the import registers its ids, as in "my_pkg:MyEnv-v0"
        spec = gymnasium.spec(env_id)
    except (GymnasiumError, ImportError) as error:
        plugged = (point.name for point in importlib.metadata.entry_points(group=PLUGIN_GROUP))
        known = ", ".join(sorted({*BUILTIN, *plugged}))
        raise UnknownIdError(
            f"no environment is named {name!r} ({error}). Available: {known}, "
            "any Gymnasium id with text observations and actions ('my_pkg:MyEnv-v0'), each also with "
            "'@{json arguments}'"
        ) from None
    return EnvEntry(spec.id, spec.id, "gymnasium", _gymnasium_maker(spec.id))


def iter_plugins(only: str | None = None) -> Iterator[EnvEntry]:
    """Yield the environments of installed packages: entry points of group ``nlac_bench.envs``.

    The entry point's name is the environment's name, its value an environment class or a function that
    returns an environment. One that cannot be imported is skipped with a warning.

    Args:
        only: skip entry points with another name, without importing them.
    """
    for point in importlib.metadata.entry_points(group=PLUGIN_GROUP):
        if only is not None and point.name != only:
            continue
        try:
            factory = point.load()
        except Exception as error:  # a plug-in's module may raise anything on import
            warnings.warn(
                f"environment plug-in {point.name!r} ({point.value}) cannot be loaded and is left out: "
                f"{type(error).__name__}: {error}",
                stacklevel=2,
            )
            continue
        if not callable(factory):
            warnings.warn(
                f"environment plug-in {point.name!r} ({point.value}) is not callable and is left out",
                stacklevel=2,
            )
            continue
        yield EnvEntry(point.name, None, f"plug-in {point.value}", factory)


def _gymnasium_maker(env_id: str) -> Callable[..., gymnasium.Env[str, str]]:
    def make_it(**kwargs: Any) -> gymnasium.Env[str, str]:
        return gymnasium.make(env_id, **kwargs)

    return make_it
