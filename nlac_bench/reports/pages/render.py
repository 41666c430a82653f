"""Renders the project's pages: one self-contained HTML file each, without network, from jinja2 templates.

Every string that a template prints is hostile: ``visible`` shows what is invisible in it, then it is escaped.
The Content-Security-Policy (CSP level 3) allows exactly the kit's own style and script, by their hashes. A
style attribute or an event handler therefore has no effect, and the page cannot load or send anything.
"""

import base64
import functools
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nlac_bench.redaction import redact
from nlac_bench.reports.pages.text import LONGEST_LINE, markdown
from nlac_bench.stats.tables import cell_text
from nlac_bench.visible import visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def render_html(package: str, template: str, **values: Any) -> str:
    """Render ``package``'s ``templates/{template}``, which extends ``base.html.jinja``, as one HTML file.

    Args:
        package: name of a package that has a folder ``templates``.
        template: name of the template in it.
        values: what the template prints. Strings are escaped; ``Markup`` is printed as it is.

    Raises:
        jinja2.UndefinedError: the template prints a name that has no value.
    """
    return environment(package, html=True).get_template(template).render(**values)


@functools.cache
def environment(package: str, *, html: bool) -> "Environment":
    """Return the jinja2 environment of ``package``'s templates; a caller may add its own filters.

    Args:
        package: name of a package that has a folder ``templates``.
        html: whether strings are escaped for HTML; else they are for Markdown (``markdown``).
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    show = visible if html else markdown

    def finalize(value: object) -> object:
        return show(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("nlac_bench.reports.pages")]),
        autoescape=html,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # ASCII only: escapes keep lone surrogates and bidirectional controls out of the data block.
    made.policies["json.dumps_kwargs"] = {"sort_keys": True, "allow_nan": False}
    if html:
        made.filters |= {
            "long_text": long_text, "link": link, "csv_address": csv_address, "cell": cell_text,
        }  # fmt: skip
        style = Markup(_asset("page.css"))
        script = Markup("\n".join(map(_asset, ("page.js", "figures.js"))))
        made.globals |= {
            "page_style": style,
            "page_script": script,
            "csp": Markup(_policy(style, script)),
        }
    return made


def own_assets(
    package: str, styles: Sequence[str], scripts: Sequence[str], *, parts: bool
) -> dict[str, "Markup"]:
    """Return the values of ``render_html`` that give a page a style and a script of its own.

    Args:
        package: name of the package whose folder ``templates`` has the files.
        styles: files that follow the kit's style.
        scripts: files that, in this order, replace the kit's script.
        parts: whether the page loads scripts from its own folder.
    """
    from markupsafe import Markup

    style = "\n".join([_asset("page.css"), *(_asset(name, package) for name in styles)])
    script = "\n".join(_asset(name, package) for name in scripts)
    policy = _policy(style, script, parts=parts)
    return {"page_style": Markup(style), "page_script": Markup(script), "csp": Markup(policy)}


def _asset(name: str, package: str = "nlac_bench.reports.pages") -> str:
    return (files(package) / "templates" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str, *, parts: bool = False) -> str:
    """Return the Content-Security-Policy of a page with one inline style and one inline script."""
    style_hash, script_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)
    )
    return "; ".join([
        "default-src 'none'",
        f"script-src 'sha256-{script_hash}'" + (" 'self'" if parts else ""),
        f"style-src 'sha256-{style_hash}'",
        "img-src data:",
        "connect-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        *(["trusted-types parts"] if parts else []),
    ])  # fmt: skip


def long_text(text: str) -> "Markup":
    """Return ``text`` as HTML that keeps its lines; the rest of a line over 10,000 characters is folded.

    A reader unfolds the rest with a click or the keyboard; nothing is left out.
    """
    from markupsafe import Markup, escape

    parts = []
    for line in visible(text).split("\n"):
        shown, rest = line[:LONGEST_LINE], line[LONGEST_LINE:]
        parts.append(escape(shown))
        if rest:
            summary = f"{len(rest):,} more characters in this line"
            parts.append(Markup("<details><summary>{}</summary>{}</details>").format(summary, rest))
        parts.append(Markup("\n"))
    return Markup('<div class="long" dir="auto">{}</div>').format(Markup("").join(parts[:-1]))


def csv_address(text: str) -> "Markup":
    """Return the address of a file with the CSV ``text``, which is in the address; secrets are removed."""
    from markupsafe import Markup

    content = base64.b64encode(redact(text).encode()).decode()
    return Markup("data:text/csv;charset=utf-8;base64,{}").format(content)


def link(url: str, text: str | None = None) -> "Markup":
    """Return a link to ``url`` if it is an http or https address; another one is shown as text only."""
    from markupsafe import Markup, escape

    shown = escape(visible(text or url))
    try:
        parts = urlsplit(url)
    except ValueError:
        return shown
    if parts.scheme not in ("http", "https") or not parts.hostname or visible(url) != url or " " in url:
        return shown if text is None or not url else Markup("{} ({})").format(shown, visible(url))
    return Markup('<a href="{}" rel="noopener noreferrer">{}</a>').format(url, shown)
