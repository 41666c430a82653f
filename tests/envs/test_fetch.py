"""Data sets: found, fetched, verified; every failure named and nothing half-written."""

import contextlib
import gzip
import hashlib
import http.server
import io
import json
import tarfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nlac_bench.envs import datasets, fetch
from nlac_bench.errors import DataError, UnknownIdError
from tests.cli.command import call

CONTENT = {"a.json": b'{"x": 1}', "sub/b.jsonl.gz": gzip.compress(b'{"y": 2}\n\n{"y": 3}\n', mtime=0)}
HASHES = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}


@pytest.fixture
def spec(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> datasets.DatasetSpec:
    """A small data set of our own beside the real ones, and a cache of its own."""
    spec = replace(datasets.DATASETS["twenty_questions"], name="small", folder="small_set", files=HASHES)
    monkeypatch.setattr(datasets, "DATASETS", {**datasets.DATASETS, "small": spec})
    monkeypatch.setenv("NLAC_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NLAC_BENCH_DATA", raising=False)
    return spec


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in CONTENT.items():
        path = tmp_path / "origin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "origin"


def test_from_a_folder(spec: datasets.DatasetSpec, folder: Path) -> None:
    target = fetch.fetch("small", str(folder))
    assert target == datasets.official_folder("small")
    assert all(row["ok"] for row in fetch.verify("small", target))
    data = datasets.open_dataset("small", "official", list(HASHES))
    assert data.json("a.json") == {"x": 1}
    assert data.jsonl("sub/b.jsonl.gz") == [{"y": 2}, {"y": 3}]
    assert data.source.kind == "official" and len(data.source.sha256) == 64
    assert [p.name for p in target.parent.iterdir()] == ["small_set"], "nothing else is left in the cache"


def test_every_bad_file_is_named_and_the_earlier_state_stays(
    spec: datasets.DatasetSpec, folder: Path
) -> None:
    fetch.fetch("small", str(folder))
    (folder / "a.json").write_bytes(b"altered")
    (folder / "sub/b.jsonl.gz").unlink()
    with pytest.raises(DataError, match=r"(?s)a\.json has sha256.*b\.jsonl\.gz is missing|not installed"):
        fetch.fetch("small", str(folder.parent / "origin"))
    assert all(row["ok"] for row in fetch.verify("small", datasets.official_folder("small")))


def test_a_first_fetch_that_fails_installs_nothing_and_can_go_on(
    spec: datasets.DatasetSpec, folder: Path
) -> None:
    (folder / "a.json").write_bytes(b"altered")
    with pytest.raises(DataError, match=r"a\.json has sha256"):
        fetch.fetch("small", str(folder))
    with pytest.raises(DataError, match="was not found"):
        datasets.official_folder("small")
    (folder / "a.json").write_bytes(CONTENT["a.json"])
    fetch.fetch("small", str(folder))


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT, with ranges; breaks off in the middle of the first reply."""

    broken: list[str] = []  # noqa: RUF012
    ranges: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        content = CONTENT.get(self.path.removeprefix("/data/"))
        if content is None:
            self.send_error(404)
            return
        start = 0
        if asked := self.headers.get("Range"):
            self.ranges.append(asked)
            start = int(asked.removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if not self.broken:
            self.broken.append(self.path)
            self.wfile.write(content[start : start + 3])
            self.close_connection = True
            return
        self.wfile.write(content[start:])

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Handler.broken, Handler.ranges = [], []
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()


def test_a_broken_download_goes_on_where_it_stopped(spec: datasets.DatasetSpec, server: str) -> None:
    with pytest.raises(DataError, match=r"ended after|cannot download"):
        fetch.fetch("small", f"{server}/data")
    seen: list[tuple[str, int, int | None]] = []
    target = fetch.fetch("small", f"{server}/data/", lambda *step: seen.append(step))
    assert Handler.ranges == ["bytes=3-"]
    assert all(row["ok"] for row in fetch.verify("small", target))
    assert seen[-1][1] == seen[-1][2]


class AlwaysUnsatisfiable(Handler):
    """Answers every request with 416, with and without a range."""

    requests: list[str | None] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.requests.append(self.headers.get("Range"))
        self.send_error(416)


@pytest.mark.parametrize("part", [None, b"", b"{", b"more than the file has" * 9])
def test_a_server_that_always_answers_416_is_asked_again_once(
    spec: datasets.DatasetSpec, tmp_path: Path, part: bytes | None
) -> None:
    AlwaysUnsatisfiable.requests = []
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), AlwaysUnsatisfiable)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    if part is not None:
        staging = tmp_path / "cache" / ".small_set.partial"
        staging.mkdir(parents=True)
        (staging / "a.json.part").write_bytes(part)
    done = call("data", "fetch", "small", "--from", f"http://127.0.0.1:{httpd.server_port}/data", "--json")
    httpd.shutdown()
    assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1, done.stderr
    assert "a.json: HTTP 416" in done.stderr
    assert AlwaysUnsatisfiable.requests == ([f"bytes={len(part)}-", None] if part else [None])
    assert not (tmp_path / "cache" / "small_set").exists()


class Slow(Handler):
    """Sends a byte of a header, or of the content, every 20 ms without an end."""

    in_header = False

    def do_GET(self) -> None:
        if not self.in_header:
            self.send_response(200)
            self.end_headers()
        with contextlib.suppress(OSError):  # the client has left
            while True:
                self.wfile.write(b"x")
                time.sleep(0.02)


@pytest.mark.parametrize("in_header", [True, False])
def test_a_download_has_a_time_limit_in_all(
    spec: datasets.DatasetSpec, monkeypatch: pytest.MonkeyPatch, in_header: bool
) -> None:
    """Each byte of a slow server comes within the limit of a single read."""
    monkeypatch.setattr(fetch, "TOTAL_S", 0.3)
    monkeypatch.setattr(Slow, "in_header", in_header)
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    with pytest.raises(DataError, match=r"took more than 0\.3 s; run the same command again"):
        fetch.fetch("small", f"http://127.0.0.1:{httpd.server_port}/data")
    httpd.shutdown()


def archive(path: Path, *, members: int = 0, zeros: int = 0) -> Path:
    """A compressed archive of empty members, or of one header that is followed by zeros."""
    with gzip.open(path, "wb", compresslevel=1) as out:
        for i in range(members):
            out.write(tarfile.TarInfo(f"a{i}").tobuf(tarfile.USTAR_FORMAT))
        if zeros:
            header = tarfile.TarInfo("pax")
            header.type, header.size = tarfile.XHDTYPE, 2**40
            out.write(header.tobuf(tarfile.GNU_FORMAT) + b"\0" * zeros)
    return path


@pytest.mark.parametrize("what", ["members", "bytes", "headers", "truncated"])
def test_an_archive_is_unpacked_within_bounds(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An archive of two million empty members took two minutes."""
    monkeypatch.setattr(fetch, "MAX_FILE_BYTES", 30 * 2**20)
    monkeypatch.setattr(fetch, "MAX_MEMBERS", 2_000)
    made = {"members": {"members": 2_001}, "bytes": {"zeros": 40 * 2**20}, "headers": {"zeros": 2**20}}
    path = archive(tmp_path / "archive.tar.gz", **made.get(what, {"members": 10}))
    if what == "truncated":
        path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="cannot be unpacked"):
        fetch.unpack(path, tmp_path / "out")
    assert not list(tmp_path.iterdir()), "nothing is left"


def test_an_archive_of_files_is_unpacked(tmp_path: Path) -> None:
    fetch.unpack(archive(tmp_path / "archive.tar.gz", members=1_000), tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) == 1_000


@pytest.mark.parametrize("name", ["../escaped", "a/../../escaped", "/{folder}/escaped", ".."])
def test_an_archive_with_a_path_that_leaves_the_folder_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "archive.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("kept"))
        tar.addfile(tarfile.TarInfo(name.format(folder=tmp_path)))
    with pytest.raises(DataError, match="leaves the folder"):
        fetch.unpack(path, tmp_path / "out")
    assert not list(tmp_path.rglob("escaped"))


def test_only_plain_files_are_unpacked(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "archive.tar.gz", "w:gz") as tar:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            member = tarfile.TarInfo(f"special{kind.decode()}")
            member.type, member.linkname = kind, "../archive.tar.gz"
            tar.addfile(member)
        member = tarfile.TarInfo("folder/file")
        member.size = 3
        tar.addfile(member, io.BytesIO(b"abc"))
    fetch.unpack(tmp_path / "archive.tar.gz", tmp_path / "out")
    unpacked = [path for path in (tmp_path / "out").rglob("*") if not path.is_dir()]
    assert [path.name for path in unpacked] == ["file"] and unpacked[0].read_bytes() == b"abc"


def test_http_errors_name_the_address(spec: datasets.DatasetSpec, server: str) -> None:
    with pytest.raises(DataError, match=r"cannot download .*/nowhere/a\.json: HTTP 404"):
        fetch.fetch("small", f"{server}/nowhere")
    with pytest.raises(DataError, match="cannot download"):
        fetch.fetch("small", "http://127.0.0.1:1/data")


def test_what_cannot_be_pinned_needs_from(spec: datasets.DatasetSpec) -> None:
    with pytest.raises(DataError, match="--from"):
        fetch.fetch("small")
    with pytest.raises(DataError, match="neither a folder"):
        fetch.fetch("small", "/no/such/folder")
    with pytest.raises(DataError, match="'tau'"):
        fetch.fetch("small", "installed")
    with pytest.raises(UnknownIdError, match="math, small, tau"):
        fetch.fetch("nothing")


def test_official_means_pinned_and_altered_folders_are_custom(
    spec: datasets.DatasetSpec, folder: Path
) -> None:
    target = fetch.fetch("small", str(folder))
    (target / "a.json").write_bytes(b'{"x": 2}')
    with pytest.raises(DataError, match=r"a\.json has sha256"):
        datasets.open_dataset("small", "official", list(HASHES)).json("a.json")
    with pytest.warns(UserWarning, match=r"a\.json"):
        data = datasets.open_dataset("small", str(target), list(HASHES))
        assert data.json("a.json") == {"x": 2}
    assert data.source.kind == "custom"
    assert datasets.open_dataset("small", folder, ["a.json"]).source.kind == "official"


@pytest.mark.parametrize(
    "content",
    [b'{"x": ', b"", b"\xff\xfe", b"[" * 100_000, rb'{"x": "\ud800"}', rb'{"\uDfff": 1}', b'{"x": NaN}'],
)
@pytest.mark.filterwarnings("ignore:.*custom")
def test_unreadable_files_are_named(spec: datasets.DatasetSpec, folder: Path, content: bytes) -> None:
    (folder / "a.json").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.json"):
        datasets.open_dataset("small", folder, ["a.json"]).json("a.json")
    (folder / "sub/b.jsonl.gz").write_bytes(CONTENT["sub/b.jsonl.gz"][:-9])
    with pytest.raises(DataError, match=r"b\.jsonl\.gz"):
        datasets.open_dataset("small", folder, ["sub/b.jsonl.gz"]).jsonl("sub/b.jsonl.gz")


def test_missing_folder_and_file_are_named(spec: datasets.DatasetSpec, folder: Path) -> None:
    (folder / "a.json").unlink()
    with pytest.raises(DataError, match=r"lacks a\.json"):
        datasets.open_dataset("small", folder, list(HASHES))
    with pytest.raises(DataError, match="nonsense"):
        datasets.open_dataset("small", "nonsense", list(HASHES))


@pytest.mark.official
@pytest.mark.parametrize("name", ["math", "tau", "twenty_questions"])
def test_official_data_are_the_pinned_ones(name: str, official_data: Path) -> None:
    folder = datasets.official_folder(name)
    assert folder == official_data / datasets.dataset_spec(name).folder
    assert all(row["ok"] for row in fetch.verify(name, folder))


@pytest.mark.official
def test_math500_from_the_published_file(official_data: Path) -> None:
    """The columns that the environment reads, in the order that the pinned hash is of."""
    ours = (official_data / "math" / "math500.jsonl").read_bytes()
    rows = [json.loads(line) for line in ours.splitlines()]
    published = "\n".join(
        json.dumps({"problem": r["problem"], "solution": "…", **{k: r[k] for k in r if k != "problem"}})
        for r in rows
    )
    assert fetch.drop_solutions(published.encode()) == ours
