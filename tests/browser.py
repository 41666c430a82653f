"""Opens pages in a real browser, and notes everything that a page asks for or runs.

Debian's Chromium is used (``apt-get install chromium``). Where it is missing, tests with the fixture
``chromium`` are skipped, except under CI, where they fail.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, sync_playwright

# Root cannot use the sandbox. The others keep Chromium from connecting to anything, whatever a page asks for.
_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND",
]  # fmt: skip
_WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

HOSTILE = {
    "script": "<script>window.attacked='script'</script>",
    "end of script": "</script><script>window.attacked='end of script'</script>",
    "end of style": "</style></title></textarea><img src=x onerror=\"window.attacked='end of style'\">",
    "event handler": "<img src=x onerror=\"window.attacked='image'\"><svg/onload=\"window.attacked='svg'\">",
    "attribute": "\"' onmouseover=\"window.attacked=1\" autofocus onfocus=\"window.attacked='focus'\" x='",
    "link": "[read](javascript:window.attacked='link') <a href=\"javascript:window.attacked='a'\">read</a>",
    "remote": "<img src='https://example.org/a.png'><link rel=stylesheet href='//example.org/a.css'>"
    "<iframe src='https://example.org'></iframe>",
    "refresh": "<meta http-equiv=refresh content='0;url=https://example.org'>",
    "form": "<form action='https://example.org'><button>go</button></form><base href='https://example.org/'>",
    "template": "{{ 7 * 7 }} {% raw %} ${7*7} <!-- --> ]]>",
    "right to left": "level \u202edeyalper\u202c \u2066isolated\u2069 \u200fmark",
    "zero width": "pay\u200bpal \ufeffbom\u2060joined \u00adsoft \U000e0041tag",
    "control": "bell\x07 escape\x1b[31m return\r null\x00",
    "formula": "=HYPERLINK(\"https://example.org\",\"click\")",
    "table": "| broken | row |\n| --- | --- |\n# heading `code` **bold** $x$ ~~struck~~",
    "entities": "&lt;b&gt; &amp; &#x202e; \\u003c",
}  # fmt: skip
"""Texts that a model, a task or a submitter may write. Each attack sets ``window.attacked``."""


@dataclass
class Opened:
    """A page in the browser, and what happened since it was opened."""

    page: Page
    requested: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """Messages of the Content-Security-Policy."""
    dialogs: list[str] = field(default_factory=list)

    def text(self) -> str:
        """All text of the page, folded and hidden text too, without what is in scripts and styles."""
        return str(
            self.page.evaluate(
                """() => { const copy = document.body.cloneNode(true);
                for (const each of copy.querySelectorAll('script, style')) each.remove();
                return copy.textContent; }"""
            )
        )

    def attacked(self) -> Any:
        """What an attack has left: the variable that it sets, or None."""
        return self.page.evaluate("() => window.attacked ?? null") or (self.dialogs or None)

    def handlers(self) -> list[str]:
        """Attributes that could run code: event handlers, style, and links with another scheme."""
        return list(
            self.page.evaluate(
                """() => [...document.querySelectorAll('*')].flatMap((e) => [...e.attributes].filter((a) =>
                /^on/i.test(a.name) || a.name === 'style' || a.name === 'srcdoc' ||
                (/^(href|src|action)$/i.test(a.name) &&
                !/^(#|https?:|data:(,$|text\\/csv;)|[\\w.-]+$)/i.test(a.value)))
                .map((a) => `${e.tagName} ${a.name}=${a.value}`))"""
            )
        )

    def smallest_text_of_figures(self) -> float:
        """The height of the smallest font in the page's visible figures, in CSS pixels."""
        return float(
            self.page.evaluate(
                """() => Math.min(...[...document.querySelectorAll('figure svg text')].filter(
                (text) => text.ownerSVGElement.checkVisibility()).map((text) => {
                const svg = text.ownerSVGElement;
                const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
                return parseFloat(getComputedStyle(text).fontSize) * scale; }))"""
            )
        )

    def narrowest_row_head(self) -> float:
        """The width of the narrowest visible head of a table's row, in CSS pixels."""
        return float(
            self.page.evaluate(
                """() => Math.min(...[...document.querySelectorAll('tbody th')].filter((head) =>
                head.offsetParent).map((head) => head.getBoundingClientRect().width))"""
            )
        )

    def wcag_violations(self) -> list[str]:
        """Rules of WCAG 2.2, levels A and AA, that the page breaks, each with the first place (axe-core)."""
        found = Axe().run(self.page, options={"runOnly": {"type": "tag", "values": _WCAG}})
        return [
            f"{v['id']}: {v['help']}: {v['nodes'][0]['html'][:200]}" for v in found.response["violations"]
        ]


def launched() -> Iterator[Browser]:
    """Start Chromium; ends it when the iterator is closed."""
    program = shutil.which("chromium")
    if program is None:
        reason = "Chromium is not installed: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_FLAGS)
        yield browser
        browser.close()


def _not_sent(request: Request, requested: list[str]) -> None:
    """Take back a request that the page's policy has stopped before it was sent."""
    if request.failure == "csp":
        requested.remove(request.url)


@contextmanager
def opened(
    browser: Browser,
    path: Path,
    *,
    fragment: str = "",
    width: int = 1280,
    scheme: Literal["light", "dark"] = "light",
    scripts: bool = True,
    bypass_csp: bool = False,
) -> Iterator[Opened]:
    """Open the file ``path`` in a new context of ``browser``.

    Args:
        browser: from ``launched``.
        path: a self-contained page.
        fragment: what follows ``#`` in the address.
        width: of the window, in CSS pixels; 390 is a phone.
        scheme: the reader's preferred colours.
        scripts: whether the browser runs scripts.
        bypass_csp: whether the page's policy is ignored; axe-core needs it for its own code.
    """
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        java_script_enabled=scripts,
        bypass_csp=bypass_csp,
    )
    page = context.new_page()
    result = Opened(page)
    page.on("request", lambda request: result.requested.append(request.url))
    page.on("requestfailed", lambda request: _not_sent(request, result.requested))
    page.on(
        "console", lambda m: result.refused.append(m.text) if "Content Security Policy" in m.text else None
    )

    def dismiss(dialog: Any) -> None:
        result.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    page.goto(path.resolve().as_uri() + fragment)
    try:
        yield result
    finally:
        context.close()
