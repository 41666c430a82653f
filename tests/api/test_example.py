"""The example of the Python API runs, and as a notebook."""

import runpy
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
