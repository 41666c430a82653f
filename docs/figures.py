"""Draws the figures of the documentation; run by `make docs`."""

import io
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

from nlac_bench.envs import registry

HERE = Path(__file__).parent


def episode(name: str, task_seed: int, path: Path) -> None:
    """An episode of the oracle as a picture: what the environment says, what the agent does."""
    env = registry.make_text_env(name)
    console = Console(record=True, width=100, file=io.StringIO())
    observation, info = env.reset(seed=task_seed)
    console.print(Text(f"{name}, task {info['task_id']}", style="bold"))
    ended, total = False, 0.0
    while not ended:
        console.print(Text(observation, style="cyan"))
        action = env.oracle_action()
        console.print(Text(f"> {action}", style="yellow"))
        observation, reward, ended, _, info = env.step(action)
        total += reward
    console.print(Text(observation, style="cyan"))
    console.print(Text(f"{info['end_reason']}, return {total:g}", style="bold green"))
    svg = console.export_svg(title="nlac-bench play --agent oracle", unique_id="episode")
    # The reader's own monospace font: a picture should load nothing from anywhere.
    path.write_text(re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    episode("twenty_questions", 3, HERE / "episode.svg")
