"""Photographs pages for README with Debian's Chromium.

``python -m docs.screenshot`` photographs a report, ``python -m docs.screenshot RUN EPISODE TURN STATE`` the
viewer of a training run.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).parent


VIEWS: dict[str, tuple[str, int, int, Literal["light", "dark"]]] = {
    "view.png": ("#side=training&episode={episode}&turn={turn}", 1280, 760, "light"),
    "view-flipbook.png": ("#view=flip&state={state}&at=1", 1100, 560, "dark"),
}
"""The pictures of the viewer: address, width, height, colours."""


@contextmanager
def chromium() -> Iterator["Browser"]:
    """Start Chromium.

    Raises:
        SystemExit: it is not installed.
    """
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        sys.exit("the screenshot needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def photograph(path: Path) -> None:
    """Write the first figure of the report of ``leaderboards/worlds`` to ``path``."""
    with tempfile.TemporaryDirectory() as folder:
        page_file = Path(folder) / "report.html"
        command = [
            sys.executable,
            "-m",
            "nlac_bench",
            "report",
            str(HERE.parent / "leaderboards" / "worlds"),
        ]
        subprocess.run([*command, "--out", str(page_file)], check=True)
        with chromium() as browser:
            page = browser.new_page(viewport={"width": 980, "height": 900})
            page.goto(page_file.as_uri())
            page.locator("section figure").first.screenshot(path=path)


def photograph_viewer(run: str, episode: str, turn: str, state: str) -> None:
    """Write the pictures ``VIEWS`` of the viewer of the training run in the folder ``run``.

    Args:
        episode: the name of the shown episode, as in the page's address.
        turn: the number of the shown turn.
        state: the number of the state in the flip-book, from 0.
    """
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "view.html"
        command = [sys.executable, "-m", "nlac_bench", "view", run, "--out", str(file), "--no-open"]
        subprocess.run(command, check=True)
        for name, (address, width, height, colours) in VIEWS.items():
            page = browser.new_page(color_scheme=colours, reduced_motion="reduce")
            page.set_viewport_size({"width": width, "height": height})
            shown = address.format(episode=quote(episode, safe=""), turn=turn, state=state)
            page.goto(file.as_uri() + shown)
            page.wait_for_selector("#flip-texts h3, .episode .turn")
            if "flip" in name:
                page.locator("#flipbook").screenshot(path=HERE / name)
            else:
                page.locator(".turn.current").evaluate("turn => turn.scrollIntoView({ block: 'end' })")
                page.screenshot(path=HERE / name)
            with Image.open(HERE / name) as picture:
                few = picture.convert("RGB").quantize(96)  # a third of the size
            few.save(HERE / name, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        photograph_viewer(*sys.argv[1:])
    else:
        photograph(HERE / "report.png")
