"""Draws the figures of the documentation; run by `make docs`, and by a test that compares the bytes."""

import io
import json
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

from docs.package_map import draw_packages
from nlac_bench.envs import registry
from nlac_bench.reports.figures.save import save_svg

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
    """Validation success of the runs in ``source`` against gradient steps, with 95 % intervals (Wilson)."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    runs = json.loads(source.read_text())["runs"]
    panels_of = {
        "NLAC": {
            name.replace("nlac-", "seed "): run for name, run in runs.items() if name.startswith("nlac-")
        },
        "seed 0 and its controls": {
            name.replace("nlac-0", "NLAC-0").removesuffix("-0"): run
            for name, run in runs.items()
            if name.endswith("-0")
        },
    }
    figure, panels = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    for panel, (title, shown) in zip(panels, panels_of.items(), strict=True):
        for name, run in shown.items():
            rows = run["validation"]
            steps = [row["gradient_steps_total"] for row in rows]
            (line,) = panel.plot(steps, [row["success"] for row in rows], marker="o", label=name)
            low, high = zip(*(row["ci"] for row in rows), strict=True)
            panel.fill_between(steps, low, high, alpha=0.12, color=line.get_color())
        panel.set_title(title, fontsize=9)
        panel.set_xlabel("gradient steps")
        panel.set_ylim(0, 1)
        panel.grid(alpha=0.3)
        panel.legend(fontsize=7)
    panels[0].set_ylabel("validation success (64 tasks)")
    save_svg(figure, path)


def draw(folder: Path) -> None:
    """Write all figures into ``folder``."""
    curves(HERE.parent / "leaderboards" / "tiny_tau_retail_nlac.json", folder / "nlac_curves.svg")
    episode("twenty_questions", 3, folder / "episode.svg")
    draw_packages(folder / "packages.svg")


if __name__ == "__main__":
    draw(HERE)
