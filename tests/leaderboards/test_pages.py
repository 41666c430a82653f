"""Boards in a real browser: hostile entries, keyboard, accessibility, small windows.

The module is slow: matplotlib draws the figures of each board, and axe-core walks each page several times.
"""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from nlac_bench.leaderboards.boards import collect
from nlac_bench.leaderboards.entry import Entry
from nlac_bench.leaderboards.entry_file import entry_text
from nlac_bench.reports.boards.build import render_boards, write_boards
from nlac_bench.visible import visible
from tests.browser import HOSTILE, opened
from tests.leaderboards.boards_of import hostile, ordinary

pytestmark = [pytest.mark.slow, pytest.mark.browser]


def built(entries: list[Entry], folder: Path) -> Path:
    """The boards of ``entries``, in ``folder``."""
    results = folder / "results"
    results.mkdir()
    for each in entries:
        (results / f"{each.entry_id}.json").write_text(entry_text(each))
    collected = collect(results)
    assert not collected.rejected
    write_boards(render_boards(collected.boards), folder / "boards")
    return folder / "boards"


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ordinary(), tmp_path_factory.mktemp("ordinary"))


@pytest.fixture(scope="module")
def algorithms(boards: Path) -> Path:
    """The page of the algorithms."""
    return next(boards.glob("*-algorithms.html"))


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Boards whose entries are full of attacks."""
    return built(hostile(list(HOSTILE.values())), tmp_path_factory.mktemp("hostile"))


def names(page: Page) -> list[str]:
    """The names of the visible ranked and unranked entries, from top to bottom."""
    shown = page.locator("tbody[data-entry]:not([data-pinned]):visible [data-name] button")
    return [text.strip() for text in shown.all_inner_texts()]


def test_the_attacks_are_attacks(chromium: Browser, tmp_path: Path) -> None:
    """In a page that neither escapes nor has a policy, the texts run and ask for files."""
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><title>x</title><body>{HOSTILE['script']}{HOSTILE['remote']}")
    with opened(chromium, page) as seen:
        assert seen.attacked() == "script"
        assert any("example.org" in url for url in seen.requested)


@pytest.mark.parametrize("name", ["algorithms", "index"])
def test_hostile_entries_do_nothing_and_lose_nothing(chromium: Browser, attack: Path, name: str) -> None:
    page = next(attack.glob(f"*{name}.html"))
    with opened(chromium, page) as seen:
        for button in seen.page.locator("button.open, summary").all():
            button.dispatch_event("click")
        seen.page.mouse.move(200, 300)
        assert seen.attacked() is None and seen.handlers() == [] and seen.refused == []
        assert [url for url in seen.requested if not url.startswith("data:")] == [page.as_uri()]
        assert seen.page.url.partition("#")[0] == page.as_uri()
        assert seen.page.locator("script").count() == (2 if name == "algorithms" else 1)
        text = " ".join(seen.text().split())
        for attack_name, hidden in HOSTILE.items() if name == "algorithms" else [*HOSTILE.items()][:1]:
            assert " ".join(visible(hidden).split()) in text, attack_name
        assert name == "index" or "x" * 25_000 in text.replace(" ", "").replace(
            "15,000morecharactersinthisline", ""
        )


def test_what_would_be_printed_without_escaping_is_stopped_by_the_policy(
    chromium: Browser, algorithms: Path, tmp_path: Path
) -> None:
    """The policy alone is enough: attacks that are put into the finished page do nothing either."""
    page = tmp_path / "page.html"
    # No policy keeps a page from going elsewhere by itself; only the escaping does.
    attacks = "".join(
        text for name, text in HOSTILE.items() if name not in ("end of script", "end of style", "refresh")
    )
    text = algorithms.read_text(encoding="utf-8").replace("</main>", f"{attacks}</main>")
    page.write_text(text, encoding="utf-8", errors="replace")
    with opened(chromium, page) as seen:
        seen.page.get_by_role("link", name="read").dispatch_event("click")
        assert seen.attacked() is None and seen.refused
        assert [url for url in seen.requested if not url.startswith("data:")] == [page.as_uri()]


def test_rows_are_sorted_filtered_and_opened_by_keyboard_and_kept_in_the_address(
    chromium: Browser, algorithms: Path
) -> None:
    with opened(chromium, algorithms) as seen:
        page = seen.page
        by_success = names(page)
        assert by_success[:4] == ["nlac", "ppo", "grpo", "rft"] and by_success[-1] == "sac"
        head = page.get_by_role("columnheader", name="Entry").get_by_role("button")
        head.focus()
        page.keyboard.press("Enter")
        assert names(page) == sorted(by_success)
        page.keyboard.press("Enter")
        assert names(page) == sorted(by_success, reverse=True)
        assert page.locator("th[data-key=name]").get_attribute("aria-sort") == "descending"
        page.locator("button.open", has_text="ppo").focus()
        page.keyboard.press("Space")
        page.get_by_role("searchbox", name="Search").fill("pp")
        assert names(page) == ["ppo"]
        assert "1 of 5 entries shown" in page.get_by_role("status").inner_text()
        address = page.url
    with opened(chromium, algorithms, fragment=f"#{address.partition('#')[2]}") as seen:
        page = seen.page
        assert names(page) == ["ppo"]
        assert page.locator("button.open", has_text="ppo").get_attribute("aria-expanded") == "true"
        assert page.get_by_text("nlac-bench run --agent ppo").is_visible()
        page.get_by_role("searchbox").fill("")
        assert names(page) == sorted(by_success, reverse=True)
        page.evaluate("location.hash = ''")
        page.wait_for_function("document.querySelectorAll('[aria-expanded=true]').length === 0")
        assert names(page) == by_success


@pytest.mark.parametrize(
    "fragment", ["#sort=__proto__.asc&open=%00&level=x", "#sort=.", "#%E0%A4%A", "#pairs", "#open="]
)
def test_any_address_shows_all_entries(chromium: Browser, algorithms: Path, fragment: str) -> None:
    with opened(chromium, algorithms, fragment=fragment) as seen:
        assert len(names(seen.page)) == 5


def test_without_scripts_everything_is_shown(chromium: Browser, algorithms: Path) -> None:
    with opened(chromium, algorithms, scripts=False) as seen:
        assert seen.page.locator("tr.detail:visible").count() == 7
        assert seen.page.locator("[data-controls]:visible").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_boards_follow_wcag(chromium: Browser, boards: Path, scheme: str, width: int) -> None:
    for path in sorted(boards.glob("*.html")):
        first = "nlac" if "algorithms" in path.name else "react"
        with opened(chromium, path, width=width, scheme=scheme, bypass_csp=True) as seen:  # type: ignore[arg-type]
            if path.name != "index.html":
                seen.page.get_by_role("button", name=first).click()
                assert seen.smallest_text_of_figures() >= 11 and seen.narrowest_row_head() >= 60
            assert seen.wcag_violations() == [], path.name


@pytest.mark.parametrize("width", [390, 1280])
def test_entries_are_cards_on_a_phone_and_rows_of_a_table_elsewhere(
    chromium: Browser, algorithms: Path, width: int
) -> None:
    with opened(chromium, algorithms, width=width) as seen:
        cells = seen.page.locator("tbody[data-entry] > tr:first-child > td[data-column=tokens]")
        box = seen.page.locator("tbody[data-entry]").first.bounding_box()
        fits = "e => e.scrollWidth <= e.clientWidth"
        label = cells.first.evaluate("e => getComputedStyle(e, '::before').content")
        shown = seen.page.locator("[role=region][aria-label=Entries]").evaluate(fits)
        assert box and box["width"] <= width and shown
        assert (label == '"Tokens"') == (width == 390)
        assert cells.first.evaluate("e => getComputedStyle(e).display") == (
            "block" if width == 390 else "table-cell"
        )
        seen.page.get_by_role("columnheader", name="Entry").get_by_role("button").click()
        assert names(seen.page) == sorted(names(seen.page)), "the order is chosen above the cards"
        last = seen.page.locator("tbody[data-entry]").last
        assert last.get_attribute("data-pinned") is not None, "floors stay behind the entries"


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_pages_scroll_down_only(chromium: Browser, boards: Path, attack: Path, width: int) -> None:
    for path in [*boards.glob("*.html"), *attack.glob("*.html")]:
        with opened(chromium, path, width=width) as seen:
            for button in seen.page.locator("button.open").all()[:3]:
                button.dispatch_event("click")
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= width, path.name
