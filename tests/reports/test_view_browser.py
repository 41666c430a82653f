"""The viewer in a real browser: hostile texts, filters in the address, keys, comparison, flip-book, parts.

The module is slow: axe-core walks the page several times.
"""

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from nlac_bench.reports.view import page as view_page
from nlac_bench.reports.view.page import write_view
from nlac_bench.visible import visible
from tests.browser import HOSTILE, Opened, opened
from tests.reports.report_runs import CUT, LOST, OWED, WON, make_run
from tests.reports.view_runs import make_critic_run

pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training run in which tasks and all texts of the agent, the environment and the critic attack."""
    folder = tmp_path_factory.mktemp("hostile")
    run = make_critic_run(
        folder / "<img src=x onerror=attacked=1>", [f"{text} $x^2$" for text in HOSTILE.values()]
    )
    return write_view([run], folder / "view.html").path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    return write_view(
        [make_critic_run(folder / "nlac", ["one plain text", "another", "long words " * 800])],
        folder / "view.html",
    ).path


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of four tasks."""
    folder = tmp_path_factory.mktemp("two")
    runs = [
        make_run(folder / name, ends)
        for name, ends in (("a", [WON, LOST, WON, CUT]), ("b", [WON, WON, LOST, LOST]))
    ]
    return write_view(runs, folder / "view.html").path


def cells(found: Opened) -> int:
    return found.page.locator("#grid a").count()


def ready(found: Opened) -> None:
    found.page.wait_for_selector(".episode .turn")


def test_hostile_texts_are_shown_and_do_nothing(chromium: Browser, hostile: Path) -> None:
    with opened(chromium, hostile) as found:
        ready(found)
        shown = ""
        for number in range(found.page.locator("#grid a").count()):
            found.page.keyboard.press("]" if number else "j")
            found.page.wait_for_timeout(30)
            shown += found.text()
        found.page.goto(found.page.url.partition("#")[0] + "#view=flip")
        for number in range(len(HOSTILE)):
            found.page.select_option("#probe", str(number))
            found.page.wait_for_timeout(10)
            shown += found.text()
        assert found.attacked() is None and found.handlers() == [] and found.refused == []
        assert set(found.requested) == {hostile.resolve().as_uri()}
    shown = " ".join(shown.split())
    for name, text in HOSTILE.items():
        assert " ".join(visible(text).split()) in shown, name


def test_a_deep_link_with_hostile_values_selects_nothing(chromium: Browser, two: Path) -> None:
    attack = "#episode=__proto__&turn=<img src=x onerror=window.attacked=1>&result=constructor&side=toString"
    attack += "&flags=x&at=-1&q="
    with opened(chromium, two, fragment=attack) as found:
        ready(found)
        assert cells(found) == 8 and found.attacked() is None and found.refused == []


def test_filters_combine_and_stay_in_the_address(chromium: Browser, two: Path) -> None:
    with opened(chromium, two) as found:
        ready(found)
        for result, expected in (("lost", 4), ("won", 4), ("one", 4), ("only 0", 2), ("only 1", 2), ("", 8)):
            found.page.select_option("#result", result)
            assert cells(found) == expected, result
        found.page.select_option("#result", "lost")
        found.page.check("[data-flag='1']")  # truncated
        assert cells(found) == 1
        found.page.uncheck("[data-flag='1']")
        found.page.select_option("#side", "b")
        found.page.fill("#q", "t03")
        expect(found.page.locator("#grid a")).to_have_count(1)
        address = found.page.url
        assert "result=lost" in address and "side=b" in address and "q=t03" in address
    with opened(chromium, two, fragment=f"#{address.partition('#')[2]}") as found:
        expect(found.page.locator("#grid a")).to_have_count(1)
        assert found.page.input_value("#q") == "t03" and found.page.input_value("#result") == "lost"
        found.page.click("#clear")
        assert cells(found) == 8


def test_the_search_reads_all_messages(chromium: Browser, trained: Path) -> None:
    with opened(chromium, trained) as found:
        ready(found)
        for words, expected in (("ONE plain", 2), ("another", 2), ("no such words", 0)):
            found.page.fill("#q", words)
            expect(found.page.locator("#grid a")).to_have_count(expected)
        assert "No episode matches" in found.page.inner_text("#count")


def test_keys_move_and_can_be_turned_off(chromium: Browser, two: Path) -> None:
    with opened(chromium, two) as found:
        ready(found)
        press, current = found.page.keyboard.press, found.page.locator("#grid [aria-current]")
        assert "t00, a" in str(current.get_attribute("aria-label"))
        press("j")
        assert "turn=1" in found.page.url
        press("]")
        expect(current).to_have_attribute("aria-label", "t00, b, trial 0: won")
        press("[")
        press("c")
        expect(found.page.locator(".episode")).to_have_count(2)
        assert "with=b" in found.page.url
        press("c")
        expect(found.page.locator(".episode")).to_have_count(1)
        press("/")
        press("j")  # is typed
        assert found.page.input_value("#q") == "j"
        press("Escape")
        found.page.click("#clear")
        found.page.click(".tools summary")
        found.page.uncheck("#shortcuts")
        press("]")
        expect(current).to_have_attribute("aria-label", "t00, a, trial 0: won")


def test_arrows_move_in_the_grid(chromium: Browser, two: Path) -> None:
    with opened(chromium, two) as found:
        ready(found)
        assert found.page.locator("#grid [tabindex='0']").count() == 1
        found.page.focus("#grid [tabindex='0']")
        for key in ("ArrowRight", "ArrowDown", "Enter"):
            found.page.keyboard.press(key)
        expect(found.page.locator("#grid [aria-current]")).to_have_attribute("data-episode", "1")


def test_the_rail_stands_beside_the_turn(chromium: Browser, trained: Path) -> None:
    with opened(chromium, trained, fragment="#episode=training/r0/0/0") as found:
        ready(found)
        rail = found.page.locator(".rail")
        assert rail.count() == 1 and rail.locator("ins").first.inner_text().strip() == "better"
        box, turn = rail.bounding_box(), found.page.locator(".criticised .played").bounding_box()
        assert box and turn and box["x"] > turn["x"] + turn["width"] - 1
        assert "predicted success" in rail.inner_text() and "one plain text 2" in rail.inner_text()


def test_the_flip_book_shows_one_state_at_each_validation(chromium: Browser, trained: Path) -> None:
    with opened(chromium, trained, fragment="#view=flip&state=0&at=0") as found:
        texts = found.page.locator("#flip-texts")
        expect(texts).to_contain_text("one plain text 0")
        assert texts.locator("ins").count() == 0  # nothing before it
        found.page.focus("#at")
        found.page.keyboard.press("ArrowRight")
        expect(texts.locator("ins").first).to_have_text("1")
        expect(texts.locator("del").first).to_have_text("0")
        assert "at=1" in found.page.url and "validation 2 of 3" in found.page.inner_text("#when")
        assert "refined won" in texts.inner_text()
        found.page.click("text=The whole episode")
        ready(found)
        expect(found.page.locator(".turn.current")).to_have_attribute("data-turn", "2")


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
)
def test_a_page_is_accessible_and_fits_its_window(
    chromium: Browser, trained: Path, two: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    pair = "#episode=a/t00/0/1&with=b"
    for path, address in ((trained, "#episode=training/r0/0/0"), (trained, "#view=flip"), (two, pair)):
        with opened(chromium, path, fragment=address, width=width, scheme=scheme, bypass_csp=True) as found:
            found.page.wait_for_selector("#flip-texts h3, .episode .turn")
            found.page.evaluate(
                "() => document.querySelectorAll('details').forEach((d) => { d.open = true; })"
            )
            assert found.wcag_violations() == []
            assert found.page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")


def test_parts_in_a_folder_are_loaded_when_needed(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_page, "MOST_IN_FILE", 3)
    monkeypatch.setattr(view_page, "PART_EPISODES", 2)
    path = write_view([make_run(tmp_path / "run", [WON] * 7)], tmp_path / "view.html").path
    with opened(chromium, path) as found:
        ready(found)
        parts = [url.rpartition("/")[2] for url in found.requested[1:]]
        assert parts == ["part-0.js"] and found.refused == []
        found.page.click("[data-episode='6']")
        expect(found.page.locator(".episode h2")).to_have_text("t06")
        assert found.requested[-1].endswith("view_parts/part-3.js")
        found.page.fill("#q", "t05")
        expect(found.page.locator("#grid a")).to_have_count(1)
        (tmp_path / "view_parts" / "part-2.js").unlink()
        found.page.click("#grid a")
        expect(found.page.get_by_role("alert")).to_contain_text("part-2.js is missing")


def test_a_running_run_has_a_reload_button_and_scripts_are_asked_for(
    chromium: Browser, tmp_path: Path
) -> None:
    runs = [make_run(tmp_path / name, [WON, OWED]) for name in ("run", "other")]
    path = write_view(runs, tmp_path / "view.html").path
    with opened(chromium, path) as found:
        ready(found)
        expect(found.page.locator("[data-reload]")).to_have_count(2)
        write_view([make_run(tmp_path / "done", [WON, WON])], path)
        found.page.locator("[data-reload]").last.click()
        expect(found.page.locator("#grid a")).to_have_count(2)
        assert found.page.locator("[data-reload]").count() == 0
    with opened(chromium, path, scripts=False) as found:
        assert "nlac-bench view" in found.page.inner_text("noscript")
