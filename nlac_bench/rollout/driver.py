"""The driver: plays many episodes at the same time on one event loop, within budgets."""

import asyncio
import time
import traceback
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import gymnasium

from nlac_bench.envs.returned import check_info, check_observation, check_step
from nlac_bench.errors import SIGNALS, EnvInfraError, NlacBenchError
from nlac_bench.redaction import redact
from nlac_bench.rollout.agent import Agent, begun
from nlac_bench.rollout.engines.routing import Conversation, within
from nlac_bench.rollout.limits import PlayLimits, Spent
from nlac_bench.rollout.recorded_calls import episode_scope
from nlac_bench.rollout.stepping import Stepper, stepper
from nlac_bench.rollout.usage import bounded
from nlac_bench.types import CONTENT_FILTER, ContentFilterError, Episode, Info, Turn, Usage, beginning_of

_HEAVY = ("messages", "tools", "policy", "examples", "usage")
"""Keys of ``info`` that are not stored with the episode: the same for all episodes of a task, or (``usage``)
counted elsewhere."""
_IN_STEP = "the environment was taking a step"
"""Reason of a cancellation: the agent had answered, so the time-out is not its fault."""


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """A planned episode. ``task_id`` is None for environments without named tasks."""

    env: str
    task_id: str | None
    trial: int
    seed: int


@dataclass(frozen=True, slots=True)
class Failure:
    """An episode that ended without a result. It does not count for the agent and has to be played again.

    ``kind`` is ``infra`` (the infrastructure around the task failed) or ``crash`` (an unexpected exception in
    an environment or agent, which is a bug; ``traceback`` has its traceback). ``usage`` holds its
    tokens and calls so far.
    """

    spec: EpisodeSpec
    kind: Literal["infra", "crash"]
    error: str
    message: str
    turns: int
    usage: dict[str, Usage] = field(default_factory=dict)
    seconds: float = 0.0
    traceback: str = ""
    timed_out: bool = False
    """Whether no reply arrived in time."""


class Driver:
    """Plays episodes of one agent in one environment, ``concurrency`` at a time.

    Each episode is a coroutine, not a thread. When ``concurrency`` results wait to be consumed, playing
    pauses (back-pressure). Environments are made when needed, at most ``concurrency`` of them, and reused.
    An environment that allows fewer at the same time (``TextEnv.max_concurrency``) lowers the number.

    An episode that reaches one of its own ``limits``, overflows the context, or spends the whole length of a
    reply on thoughts is truncated: it yields an ``Episode`` with ``truncated=True``, ``success=False`` and
    ``end_reason`` ``turn_limit``, ``token_limit``, ``cost_limit``, ``time_limit``, ``context_overflow`` or
    ``length``. An episode whose time is up before the policy's first reply yields a ``Failure`` instead,
    since a server that hangs is not the agent's fault.

    An episode in which a content filter stopped a reply (of the policy, or of the environment's user, oracle
    or judge) has no result, and playing it again would not help: it yields an ``Episode`` that is neither
    terminated nor truncated, with ``success=None``, ``end_reason="content_filter"`` and the role in ``info``.

    When the *run's* limits are reached, unfinished episodes are dropped and listed in ``owed``: which ones
    are unfinished depends on their length and on what other episodes spent, so their results would be a
    biased sample.

    Args:
        agent: the agent that plays.
        make_env: makes one environment; called from the event loop's thread.
        concurrency: number of episodes played at the same time.
        limits: of each episode.
        run_limits: of all episodes of this driver together.

    Raises:
        ValueError: ``concurrency`` is below 1.
    """

    def __init__(
        self,
        agent: Agent,
        make_env: Callable[[], gymnasium.Env[str, str]],
        *,
        concurrency: int = 64,
        limits: PlayLimits | None = None,
        run_limits: PlayLimits | None = None,
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, got {concurrency!r}")
        self.agent = agent
        self.concurrency = concurrency
        self.limits = limits if limits is not None else PlayLimits()
        self.run_limits = run_limits if run_limits is not None else PlayLimits()
        self.spent = Spent()
        self.stopped: str | None = None
        """Why playing stopped early: ``interrupted``, the run limit that was reached, or an error's name."""
        self.aborting = False
        """Whether ``abort`` is about to be called, which another thread may say. No episode then takes a
        step, because a step that blocks the event loop's thread would delay the call."""
        self.owed: list[EpisodeSpec] = []
        """Episodes of the latest ``run`` that were planned and have neither ended nor failed."""
        self._make_env = make_env
        self._free: list[Stepper] = []
        self._most = concurrency
        self._playing: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> int:
        """The number of episodes that are being played."""
        return len(self._playing)

    def stop(self, reason: str = "interrupted") -> None:
        """Start no further episodes; the running ones are played to their end."""
        self.stopped = self.stopped or reason

    def abort(self, reason: str = "interrupted") -> None:
        """Start no further episodes and drop the running ones, which are added to ``owed``."""
        self.stop(reason)
        self.aborting = False
        playing, self._playing = self._playing, set()
        for task in playing:  # cancel each task once: ``work`` takes a second cancellation for someone else's
            task.cancel()

    async def run(self, specs: Sequence[EpisodeSpec]) -> AsyncGenerator[Episode | Failure, None]:
        """Play ``specs`` and yield each result when its episode ends.

        Leaving the iteration early drops the running episodes (use ``contextlib.aclosing``).

        Raises:
            NlacBenchError: a fault that every other episode would have too (such as bad data, or a recording
                that lacks a call). All episodes stop.
        """
        pending, self.owed = deque(specs), []
        results: asyncio.Queue[Episode | Failure | BaseException | None] = asyncio.Queue(self.concurrency)

        async def work() -> None:
            task = asyncio.current_task()
            assert task is not None
            # The first worker makes an environment before the others run, so that they know its limit.
            while pending and self.stopped is None and len(self._playing) < self._most:
                spec = pending.popleft()
                self._playing.add(task)
                try:
                    result = await self._play(spec)
                except asyncio.CancelledError:
                    if self.stopped is None or task.cancelling() > 1:
                        raise
                    self.owed.append(spec)
                    return
                except NlacBenchError as error:
                    error.add_note(f"while playing {spec}")
                    self.owed.append(spec)
                    self.stop(type(error).__name__)
                    await results.put(error)
                    return
                finally:
                    self._playing.discard(task)  # ``abort`` must not drop a result that waits to be consumed
                reached = self.spent.exceeded(self.run_limits)
                if reached is not None:
                    self.abort(f"run_{reached}")
                await results.put(result)

        async def work_all() -> None:
            fault = None
            try:
                await asyncio.gather(*workers)
            except BaseException as error:
                if whole.cancelling():
                    raise
                fault = error  # the consumer waits for the end of all workers, however they end
            await results.put(fault)

        workers = [asyncio.create_task(work()) for _ in range(min(self.concurrency, len(pending)))]
        whole = asyncio.create_task(work_all())
        alarm = self._time_alarm()
        try:
            while (result := await results.get()) is not None:
                if isinstance(result, BaseException):
                    raise result
                yield result
            await whole
        finally:
            if alarm is not None:
                alarm.cancel()
            for task in (whole, *workers):
                task.cancel()
            await asyncio.gather(whole, *workers, return_exceptions=True)
            self.owed += pending

    async def _play(self, spec: EpisodeSpec) -> Episode | Failure:
        """Play one episode to its end and return its result; faults become a ``Failure``."""
        began = time.perf_counter()
        episode = Episode(spec.env, spec.task_id or "", spec.trial, spec.seed, first_observation="")
        kind: Literal["infra", "crash"] = "infra"
        trace = ""
        player = None
        try:
            async with asyncio.timeout(self.limits.seconds) as clock:
                with episode_scope(f"{spec.task_id}#{spec.trial}"), within(Conversation()):
                    player = self._free.pop() if self._free else stepper(self._make_env())
                    most = getattr(player.unwrapped, "max_concurrency", None)
                    self._most = min(self._most, most or self._most)
                    await self._play_turns(spec, player, episode)
            self._free.append(player)
            return _timed(episode, began)
        except ContentFilterError as stopped:
            if player is not None:
                self._free.append(player)
            self._charge(episode, stopped)
            _stop_by_filter(episode, stopped.role)
            return _timed(episode, began)
        except EnvInfraError as error:
            if player is not None:
                self._free.append(player)
            self._charge(episode, error)
            fault: BaseException = error
        except NlacBenchError:
            raise
        except TimeoutError as error:
            if not clock.expired():
                fault, kind, trace = error, "crash", redact(traceback.format_exc())[-8000:]
            elif episode.turns and _IN_STEP not in getattr(error.__context__, "__notes__", ()):
                _cut(episode, "time_limit")
                return _timed(episode, began)
            else:
                what = "the environment" if episode.turns else "a reply of the policy"
                fault = TimeoutError(
                    f"the episode's limit of {self.limits.seconds:g} s ended while it waited for {what}; "
                    "check that the servers respond, or increase --max-seconds"
                )
        except BaseException as error:
            if isinstance(error, SIGNALS) or _ends_this_task(error):
                raise
            kind, trace, fault = "crash", redact(traceback.format_exc())[-8000:], error
            if isinstance(error, SystemExit):
                fault = RuntimeError(f"sys.exit({error.code!r}) was called")
        # redact first: half a secret would not be recognised
        message = redact(str(fault) or f"{type(fault).__name__} was raised")[:2000]
        return Failure(
            spec, kind, type(fault).__name__, message, len(episode.turns), episode.usage,
            time.perf_counter() - began, trace,
            timed_out=(kind == "infra" and isinstance(fault, TimeoutError))
            or getattr(fault, "kind", None) == "timeout",
        )  # fmt: skip

    def _charge(self, episode: Episode, error: EnvInfraError) -> None:
        """Count what was paid for before ``error``."""
        for role, usage in error.spent.items():
            if usage != Usage():
                self.spent.add(episode, role, bounded(usage, f"environment {episode.env}"))

    async def _play_turns(self, spec: EpisodeSpec, player: Stepper, episode: Episode) -> None:
        observation, info = await player.reset(spec.seed, spec.task_id)
        check_observation(observation)
        check_info(info)
        episode.first_observation = observation
        if not episode.task_id:
            episode.task_id = str(info.get("task_id", spec.seed))
        episode.info, episode.beginning = stored_info(info), beginning_of(info)
        actor = begun(self.agent, player.unwrapped, spec.seed)
        total = Usage()
        while True:
            turns_before = self.spent.turns
            turn = await actor.act(observation, info)
            if not isinstance(turn, Turn) or not isinstance(turn.text, str):
                raise TypeError(f"act() of the agent returned {turn!r:.80}; it must be a Turn with a text")
            self.spent.turns += 1
            for role, usage in ((turn.role, turn.usage), *turn.other_usage.items()):
                total = total + usage
                self.spent.add(episode, role, usage)
            episode.turns.append(turn)
            if not turn.played:
                if turn.finish == "content_filter":
                    _stop_by_filter(episode, turn.role)
                else:
                    _cut(episode, turn.finish)
                return
            while self.aborting:
                await asyncio.sleep(0)  # the cancellation is raised here
            try:
                observation, reward, terminated, truncated, info = await player.step(turn.text)
            except asyncio.CancelledError as cancelled:
                cancelled.add_note(_IN_STEP)
                raise
            check_step(observation, reward, terminated, truncated, info)
            turn.observation, turn.reward = observation, float(reward)
            for role, counts in info.get("usage", {}).items():
                usage = bounded(Usage(**counts), f"environment {spec.env}")
                total = total + usage
                self.spent.add(episode, role, usage)
            if terminated or truncated:
                _end(episode, turn, info, terminated, truncated)
                return
            turn.info.update(stored_info(info))
            reached = self.spent.exceeded(self.run_limits)
            if reached is not None:
                self.abort(f"run_{reached}")
                await asyncio.sleep(0)  # the cancellation is raised here
            reached = self.limits.exceeded(len(episode.turns), total)
            if reached is not None:
                _cut(episode, reached)
                return
            if self.spent.turns == turns_before + 1:
                # No other episode took a turn in the meantime, so neither the model nor the environment
                # awaited anything: yield to the event loop here. Yielding in every turn would make episodes
                # that wake together wait for each other.
                await asyncio.sleep(0)

    def _time_alarm(self) -> asyncio.TimerHandle | None:
        """Schedule the abort of the run at its time limit; works while all episodes wait for a model."""
        if self.run_limits.seconds is None:
            return None
        left = self.spent.started + self.run_limits.seconds - time.monotonic()
        return asyncio.get_running_loop().call_later(max(0.0, left), self.abort, "run_time_limit")


def _ends_this_task(error: BaseException) -> bool:
    """Return whether ``error`` cancels or closes the running task, and was not raised by an environment."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # the event loop has ended without this task, whose coroutine is closed now
        return True
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def stored_info(info: Info) -> Info:
    """Return the part of an environment's ``info`` that is stored with an episode."""
    return {key: value for key, value in info.items() if key not in _HEAVY}


def _end(episode: Episode, turn: Turn, info: Info, terminated: bool, truncated: bool) -> None:
    episode.terminated, episode.truncated = terminated, truncated and not terminated
    success = info.get("success")
    episode.success = None if success is None else bool(success)
    episode.end_reason = str(info.get("end_reason") or ("terminated" if terminated else "truncated"))
    last = {key: value for key, value in stored_info(info).items() if key not in ("success", "end_reason")}
    turn.info.update(last)
    if "reward_parts" in last:
        episode.info["reward_parts"] = last["reward_parts"]


def _cut(episode: Episode, reason: str) -> None:
    episode.truncated, episode.success, episode.end_reason = True, False, reason


def _stop_by_filter(episode: Episode, role: str) -> None:
    episode.task_id = episode.task_id or str(episode.seed)  # empty if `reset` was stopped
    episode.success, episode.end_reason = None, CONTENT_FILTER
    episode.info["content_filter"] = role


def _timed(episode: Episode, began: float) -> Episode:
    episode.seconds = time.perf_counter() - began
    return episode
