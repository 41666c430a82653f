"""Reports in a real browser: hostile texts of models and tasks, accessibility, small windows, dark and light.

The module is slow: matplotlib draws the figures of each report, and axe-core walks each page several times.
"""

import io
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import Browser

from nlac_bench.reports.report.build import report_of
from nlac_bench.reports.report.page import write_page
from nlac_bench.reports.report.references import REFERENCES
from nlac_bench.visible import visible
from tests.browser import HOSTILE, opened
from tests.reports.report_runs import INFRA, LOST, OWED, WON, critique, make_run, make_training

pytestmark = [pytest.mark.slow, pytest.mark.browser]

ATTACKS = list(HOSTILE.values())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a training run in which tasks, models, errors and names attack."""
    folder = tmp_path_factory.mktemp("hostile")
    texts = [
        critique(i, task=text, heard=text, played=text, answered=text, future=text, critique=text,
                 refined=text, proposed=f"{text} " * 3)
        for i, text in enumerate(ATTACKS)
    ]  # fmt: skip
    long = critique(99, critique="x" * 25_000 + "<script>window.attacked='long'</script>")
    run = make_training(
        folder / "<img src=x onerror=attacked=1>", [LOST] * len(ATTACKS),
        ([WON, INFRA] * len(ATTACKS))[: len(ATTACKS)],
        tasks=ATTACKS, message=HOSTILE["script"], critiques=[*texts[:4], long], env=HOSTILE["event handler"],
    )  # fmt: skip
    make_run(run / REFERENCES / "random", [LOST] * len(ATTACKS), agent="random", tasks=ATTACKS,
             env=HOSTILE["event handler"])  # fmt: skip
    write_page(report_of([str(run)]), folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ordinary")
    run = make_training(folder / "nlac", [LOST] * 70, [WON] * 60 + [LOST] * 8 + [OWED] * 2,
                        critiques=[critique(i) for i in range(9)])  # fmt: skip
    make_run(run / REFERENCES / "oracle", [WON] * 70, agent="oracle")
    write_page(report_of([str(run)]), folder / "report.html")
    return folder / "report.html"


def test_nothing_executes_nothing_is_requested_and_nothing_disappears(
    chromium: Browser, hostile: Path
) -> None:
    with opened(chromium, hostile) as found:
        found.page.evaluate("() => document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        assert found.attacked() is None and found.handlers() == [] and found.refused == []
        assert found.requested == [hostile.resolve().as_uri()]
        shown = " ".join(found.text().split())
    for name, text in HOSTILE.items():
        assert " ".join(visible(text).split()) in shown, name
    assert "x" * 10_000 in shown and "window.attacked='long'" in shown, "a long line is folded, not cut"
    assert "\u202e" not in hostile.read_text() and "\u200b" not in hostile.read_text()


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
)
def test_a_report_is_accessible_and_fits_its_window(
    chromium: Browser, ordinary: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    with opened(chromium, ordinary, width=width, scheme=scheme, bypass_csp=True) as found:
        assert found.wcag_violations() == []
        assert found.page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        assert found.smallest_text_of_figures() >= 11 and found.narrowest_row_head() >= 60
        assert (
            found.page.locator("figure svg[role=img]:visible").count()
            == found.page.locator("figure details").count()
        )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_figure_is_saved_as_svg_png_and_csv(
    chromium: Browser, hostile: Path, scheme: Literal["light", "dark"]
) -> None:
    """The files are those of print in both schemes, and nothing is requested for them."""
    with opened(chromium, hostile, scheme=scheme) as found:
        saved = {}
        for form in ("SVG", "PNG", "CSV"):
            with found.page.expect_download() as download:
                found.page.locator(f"#success figcaption :text('{form}')").click()
            assert download.value.suggested_filename == f"forest.{form.lower()}"
            saved[form] = Path(download.value.path()).read_bytes()
        assert found.attacked() is None and found.refused == []
        assert [url for url in found.requested if not url.startswith(("data:", "blob:"))] == [
            hostile.resolve().as_uri()
        ]
        assert found.page.locator("figure").count() == found.page.locator("a[download$='.csv']").count()
    svg = ElementTree.fromstring(saved["SVG"])
    colours = {svg_part.get(name) for svg_part in svg.iter() for name in ("fill", "stroke")}
    assert not any("var(" in (each or "") for each in colours) and "#0072b2" in colours
    assert not any("script" in each.tag for each in svg.iter())
    with Image.open(io.BytesIO(saved["PNG"])) as picture:
        assert picture.width > 2_000 and picture.getpixel((0, 0)) == (255, 255, 255, 255)
        assert (0, 114, 178, 255) in {colour for _, colour in picture.getcolors(1 << 20) or ()}
    assert saved["CSV"].decode() == forest_of(hostile)


def forest_of(page: Path) -> str:
    """The CSV of the forest plot of the run beside ``page``."""
    (run,) = [folder for folder in page.parent.iterdir() if folder.is_dir()]
    return next(iter(report_of([str(run)]).figures())).table.to_csv()


def test_a_report_needs_no_script(chromium: Browser, ordinary: Path) -> None:
    with opened(chromium, ordinary, scripts=False) as found:
        assert found.page.locator("section").count() == 9
        assert found.page.locator("[data-save]:visible").count() == 0
        assert "68 of 70 episodes are recorded" in found.page.inner_text("header")
