"""Photographs a report for README with Debian's Chromium: ``python -m docs.screenshot``."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def photograph(path: Path) -> None:
    """Write the first figure of the report of ``leaderboards/miniature`` to ``path``.

    Raises:
        SystemExit: Chromium is not installed.
    """
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("the screenshot needs Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        page_file = Path(folder) / "report.html"
        command = [
            sys.executable,
            "-m",
            "nlac_bench",
            "report",
            str(HERE.parent / "leaderboards" / "miniature"),
        ]
        subprocess.run([*command, "--out", str(page_file)], check=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 980, "height": 900})
            page.goto(page_file.as_uri())
            page.locator("section figure").first.screenshot(path=path)
            browser.close()


if __name__ == "__main__":
    photograph(HERE / "report.png")
