"""Plots a training run: success against gradient steps, environment steps, tokens and seconds."""

from pathlib import Path
from typing import Any

from nlac_bench.eval.figures import save_svg
from nlac_bench.eval.runs.folder import RunFolder

AXES = {
    "gradient_steps_total": "gradient steps",
    "env_steps": "environment steps",
    "tokens": "generated tokens",
    "seconds": "training seconds",
}


def latest(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the rows of one kind by iteration; if an iteration was repeated after a crash, its last row."""
    return [row for _, row in sorted({r["iteration"]: r for r in rows if r["kind"] == kind}.items())]


def draw(folder: Path) -> Path:
    """Write ``curve.svg`` to a training run's folder and return its path.

    It shows validation success with its 95 % interval (Wilson), the success of the training episodes, and
    the test success of base and trained policy if the run is finished.
    """
    import matplotlib

    matplotlib.rcdefaults()  # a matplotlibrc in the current folder could have LaTeX executed
    matplotlib.use("svg")
    from matplotlib import pyplot

    from nlac_bench.eval.training.run import trained

    rows = list(RunFolder.open(folder).metrics())
    validated, learned = latest(rows, "validation"), latest(rows, "iteration")
    result = trained(folder)
    figure, panels = pyplot.subplots(1, 4, figsize=(15, 3.6), sharey=True, layout="constrained")
    for panel, (key, label) in zip(panels, AXES.items(), strict=True):
        x = [row[key] for row in validated]
        y = [row["success"] for row in validated]
        panel.fill_between(x, [r["ci"][0] for r in validated], [r["ci"][1] for r in validated], alpha=0.2)
        panel.plot(x, y, marker="o", label="validation (95 % interval)")
        panel.plot(
            [r[key] for r in learned],
            [r.get("train_success") for r in learned],
            color="gray",
            linewidth=0.8,
            label="training episodes",
        )
        if result is not None:
            panel.axhline(result.gain.b.mean, linestyle=":", color="black", label="base, test tasks")
            panel.axhline(result.gain.a.mean, linestyle="--", color="green", label="trained, test tasks")
        panel.set_xlabel(label)
        panel.set_ylim(0, 1)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("success")
    panels[0].legend(fontsize=7)
    path = folder / "curve.svg"
    save_svg(figure, path)
    return path
