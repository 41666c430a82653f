"""The figures in docs/ are what `make docs` draws, to the byte."""

from pathlib import Path

from docs import figures


def test_figures_are_drawn_to_the_same_bytes(tmp_path: Path) -> None:
    figures.draw(tmp_path)
    for drawn in sorted(tmp_path.iterdir()):
        saved = Path(figures.__file__).with_name(drawn.name)
        assert drawn.read_bytes() == saved.read_bytes(), (
            f"{saved} is out of date; run `make docs` and commit it"
        )
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in saved.parent.glob("*.svg")}
