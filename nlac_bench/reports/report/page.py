"""The parts of a report, and how it is written: as one HTML file, or as figures and tables for a paper."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from nlac_bench.errors import ConfigError, NlacBenchError
from nlac_bench.files import replace_content
from nlac_bench.harness.runs.lines import new_files
from nlac_bench.redaction import redact
from nlac_bench.reports.figures.figure import Figure, Format, Table
from nlac_bench.reports.pages.render import render_html
from nlac_bench.visible import visible

T = TypeVar("T")

VIEW = "view.html"
"""Name of the viewer in the folder of its run; ``nlac-bench view`` writes it."""


@dataclass(frozen=True)
class NumbersTable:
    """A table of a report. ``name`` is that of its file without ending."""

    name: str
    caption: str
    table: Table


@dataclass(frozen=True)
class Texts:
    """Texts about one action: labels and texts under a title; ``read`` is the text before the action."""

    title: str
    read: str
    predicted: tuple[tuple[str, str], ...]
    happened: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Fact:
    """A large figure: ``value`` under a label, above a note; ``tone`` is ``better``, ``worse`` or empty."""

    label: str
    value: str
    note: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Answer:
    """The result in large figures; ``name`` tells several answers of a report apart."""

    facts: tuple[Fact, ...]
    name: str = ""


@dataclass(frozen=True)
class Section:
    """A part of a report: paragraphs, figures with their tables, further tables, texts, commands.

    Tables of a ``folded`` section are shown on request.
    """

    id: str
    title: str
    notes: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[NumbersTable, ...] = ()
    texts: tuple[Texts, ...] = ()
    commands: tuple[str, ...] = ()
    folded: bool = False


@dataclass(frozen=True)
class ReportPage:
    """A report: it begins with ``answers``, ``verdict``, ``setting`` and, of unfinished runs, ``progress``.

    ``folder`` is that of the run, in a report of one run, and ``view`` the command that shows its episodes.
    """

    title: str
    setting: str
    verdict: str
    progress: tuple[str, ...]
    sections: tuple[Section, ...]
    answers: tuple[Answer, ...] = ()
    folder: Path | None = None
    view: str = ""

    def to_html(self, link: str = "") -> str:
        """Return the report as one HTML file, with a ``link`` to the viewer if there is one.

        Raises:
            MissingError: matplotlib is not installed.
        """
        return redact(render_html(__package__ or "", "report.html.jinja", report=self, link=link))

    def figures(self) -> Iterator[Figure]:
        """Yield the figures of all sections."""
        return (figure for section in self.sections for figure in section.figures)

    def numbers(self) -> Iterator[tuple[str, Table]]:
        """Yield all tables with the names of their files."""
        for section in self.sections:
            yield from ((figure.name, figure.table) for figure in section.figures)
            yield from ((each.name, each.table) for each in section.tables)


def write_page(report: ReportPage, path: Path) -> None:
    """Write ``report`` to ``path`` as HTML; a file that is there is replaced.

    Raises:
        ConfigError: ``path`` does not end with ``.html``, or is a folder.
        NlacBenchError: the file cannot be written; an earlier one is kept.
        MissingError: matplotlib is not installed.
    """
    if path.suffix != ".html" or path.is_dir():
        raise ConfigError(f"--out {path}: expected the name of a file that ends with .html")
    own = report.folder is not None and path.parent.resolve() == report.folder.resolve()
    text = report.to_html(VIEW if own and path.with_name(VIEW).exists() else "")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_content(path, text.encode())
    except OSError as error:
        raise NlacBenchError(f"cannot write {path} ({error.strerror}); choose another --out") from error


def write_files(report: ReportPage, folder: Path, form: Format) -> list[Path]:
    """Write the figures of ``report`` to ``folder`` as ``form``, and the numbers behind them as CSV.

    Returns:
        The files, in the order of the report. With ``csv`` only numbers are written.

    Raises:
        ConfigError: ``folder`` is a file.
        NlacBenchError: the folder or a file in it cannot be written.
        MissingError: matplotlib is not installed.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"--out {folder}: expected a folder for the files of --format {form}, found a file")
    files: list[Path] = []
    with new_files(folder) as draft:
        if form != "csv":
            for name, figure in _unique((figure.name, figure) for figure in report.figures()):
                files.append(folder / f"{name}.{form}")
                figure.save(draft / files[-1].name, form)
        for name, table in _unique(report.numbers()):
            files.append(folder / f"{name}.csv")
            (draft / files[-1].name).write_text(redact(table.to_csv()), encoding="utf-8")
    return files


def _unique(named: Iterable[tuple[str, T]]) -> Iterator[tuple[str, T]]:
    """Yield ``named``; a repeated name gets a number (environments may differ only in punctuation)."""
    seen: dict[str, int] = {}
    for name, each in named:
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name}_{seen[name]}"), each


def sentence(parts: Sequence[str]) -> str:
    """Return ``parts`` joined as a list in a sentence: ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def as_sentence(text: str) -> str:
    """Return ``text`` with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def shown(text: str, longest: int = 300) -> str:
    """Return ``text`` of a run on one line of at most ``longest`` characters; nothing in it is invisible."""
    line = " ".join(visible(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
