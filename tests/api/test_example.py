"""The example of the Python API runs, and as a notebook."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "python_api.py"


@pytest.mark.slow  # it trains the embedded model for two steps and measures it twice
def test_the_example_measures_trains_and_compares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(EXAMPLE))
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "0.0 1.0"  # the function, and the oracle
    assert names["trained"].metrics_df()["gradient_steps_total"].max() == 2
    assert len(names["trained"].critiques_df()) == 8
    assert names["comparison"].verdict in printed
    assert (tmp_path / "comparison.png").stat().st_size > 1000


@pytest.mark.slow  # as above, in a Jupyter kernel
def test_the_example_runs_as_a_notebook(tmp_path: Path) -> None:
    pytest.importorskip("nbconvert")
    pytest.importorskip("ipykernel")
    import nbformat

    text = EXAMPLE.read_text(encoding="utf-8").replace("print(comparison.table)", "comparison.table")
    parts = [part.strip() for part in re.split(r"^(?=# )", text, flags=re.MULTILINE)]
    cells = [
        *parts,
        "trained",
        "comparison",
        "comparison.plot()",
        "await nb.aevaluate(ENV, agent='oracle', limit=1)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, tmp_path / "example.ipynb")
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", "example.ipynb"],
        cwd=tmp_path,
        check=True,
    )
    executed = json.loads((tmp_path / "example.ipynb").read_text(encoding="utf-8"))
    shown = [
        set().union(*(output.get("data", {}) for output in cell["outputs"]))
        for cell in executed["cells"][-4:]
    ]
    assert "text/html" in shown[0] and "text/html" in shown[1] and "text/html" in shown[3]
    assert "image/png" in shown[2]
