"""Draws the figures of the documentation; run by `make docs`."""

import io
import json
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


def curves(source: Path, path: Path) -> None:
    """Validation success of the runs in ``source`` against gradient steps and training seconds."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    runs = json.loads(source.read_text())["runs"]
    figure, panels = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    for panel, (key, label) in zip(
        panels, (("gradient_steps_total", "gradient steps"), ("tokens", "generated tokens")), strict=True
    ):
        for name, run in runs.items():
            own = name.startswith("nlac-")
            rows = run["validation"]
            panel.plot(
                [r[key] for r in rows],
                [r["success"] for r in rows],
                marker="o" if own else "x",
                linestyle="-" if own else ":",
                label=name,
            )
        panel.set_xlabel(label)
        panel.set_ylim(0, 1)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("success on 64 validation tasks")
    panels[0].legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    curves(HERE.parent / "leaderboards" / "tiny_tau_retail_nlac.json", HERE / "nlac_curves.svg")
    episode("twenty_questions", 3, HERE / "episode.svg")
