"""Files of unknown origin: regular files only, bounded in size, values and nesting, and no key twice."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.untrusted import MAX_KEY_PARTS, count_values, parse_json, read_toml, read_untrusted


def link(path: Path) -> None:
    path.with_name("target").write_text("secret")
    path.symlink_to("target")


KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "link": (link, "is a link"),
    "link to nothing": (lambda path: path.symlink_to("nothing"), "is a link"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is a link"),
    "pipe": (os.mkfifo, "is a pipe or device"),
    "folder": (Path.mkdir, "is a folder"),
    "large": (lambda path: path.write_bytes(b"x" * 101), "is larger than 100 bytes"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_only_regular_files_are_read(kind: str, tmp_path: Path) -> None:
    make, said = KINDS[kind]
    make(tmp_path / "file")
    with pytest.raises(OSError) as caught:
        read_untrusted(tmp_path / "file", 100)
    assert said in str(caught.value)


def test_regular_files_are_read_also_in_a_linked_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"x" * 100)
    (tmp_path / "link").symlink_to("folder")
    assert read_untrusted(tmp_path / "link" / "file", 100) == b"x" * 100
    with pytest.raises(FileNotFoundError):
        read_untrusted(tmp_path / "absent", 100)
    with pytest.raises(OSError, match="not a file"):
        read_untrusted(Path("/dev/null"), 100)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 1}}', "the key 'c' occurs twice"),
        ("[" * 5 + "]" * 5, "nested more than 4 deep"),
        ('{"a":' * 5 + "1" + "}" * 5, "nested more than 4 deep"),
        ("[" * 100_000, "more than 10 values"),
        (json.dumps([1] * 10), "more than 10 values"),
        (json.dumps({str(i): [] for i in range(6)}), "more than 10 values"),
        ('["a\\",', "Unterminated"),
        ("[1, NaN]", "NaN"),
        ("[1e999]", "too large"),
        ("", "Expecting value"),
    ],
)
def test_json_that_is_not_parsed(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_json(text.encode(), values=10, depth=4, finite=True)
    for encoding in ("utf-16", "utf-32"):  # json.loads would detect them
        with pytest.raises(ValueError):
            parse_json(text.encode(encoding), values=10, depth=4)


@pytest.mark.parametrize(
    "value", [{"a": [1, {"b": [1.5, None, True]}]}, "[[{{,,,,,,,,,,,", ['\\",[[,,,"', "\\", "[,,{"], [1] * 9]
)
def test_what_is_within_the_limits_is_read(value: object) -> None:
    """Brackets and commas in strings are not counted as values."""
    assert parse_json(json.dumps(value).encode(), values=10, depth=4, finite=True) == value


def test_values_are_counted() -> None:
    assert count_values({"a": [1, {"b": [1.5, None]}], "c": []}) == 8
    assert count_values(7) == 1


DEEP = ".".join(["a"] * (MAX_KEY_PARTS + 1))
MIXED = " . ".join(['"a.b"', "'#'", "a-b"] * MAX_KEY_PARTS)


@pytest.mark.parametrize(
    "text",
    [
        f"{DEEP} = 1", f"[{DEEP}]", f"[[{DEEP}]]", f"x = {{{DEEP} = 1}}", f"x = [{{a = 1}}, {{{MIXED} = 1}}]",
        f'y = """\n"a" \\""" # {DEEP}\n"""\n{DEEP} = 1', f"y = '''\n'a' ''' # b\n{MIXED} = 1",
    ],
)  # fmt: skip
def test_a_toml_key_of_many_parts_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "file.toml").write_text(text)
    with pytest.raises(ValueError, match=f"more than {MAX_KEY_PARTS} parts"):
        read_toml(tmp_path / "file.toml")


@pytest.mark.parametrize("digits", ["0x" + "f" * 5000, "0b" + "1" * 20_000, "0o" + "7_" * 5000 + "7"])
def test_a_toml_integer_that_python_cannot_write_is_refused(digits: str, tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text(f'a = "{digits}" # {digits}\nb = 0xff\n')
    assert read_toml(path) == {"a": digits, "b": 255}
    path.write_text(f"a = 1\nb = [{digits}]\n")
    with pytest.raises(ValueError, match=rf"the integer {digits[:12]}… is too long \(at line 2\)"):
        read_toml(path)


def test_toml_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "file.toml").write_text("a = 1\n", encoding="utf-8-sig")
    assert read_toml(tmp_path / "file.toml") == {"a": 1}


def test_an_integer_that_python_cannot_write_is_named_by_its_setting() -> None:
    with pytest.raises(ConfigError, match=r"^here: seed must be at least .* that is too long"):
        RunConfig.from_mapping({"env": "first_steps", "agent": "random", "seed": 1 << 20_000}, "here")


@pytest.mark.parametrize("text", ["x = " + "[" * 90_000, "x" * 5_000, "x = 1\nx = 1", "a" * (2**20 + 1)])
def test_toml_that_is_not_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "file.toml").write_text(text)
    with pytest.raises((ValueError, OSError)):
        read_toml(tmp_path / "file.toml")


def test_toml_with_dots_that_are_not_in_keys_is_read(tmp_path: Path) -> None:
    dots = "." * 500
    (tmp_path / "file.toml").write_text(
        f'# {DEEP}\na.b."c.d" = "{DEEP} # {dots}"\ne = \'{DEEP} "\'\nf = """\n{DEEP}\n\\"""{dots}"""\n'
        f"g = '''\n{DEEP}'''\nh = [{', '.join(['1.5'] * 100)}]\n[{'.'.join(['a'] * MAX_KEY_PARTS)}]\n"
    )
    content = read_toml(tmp_path / "file.toml")
    assert content["a"]["b"]["c.d"] == f"{DEEP} # {dots}" and content["h"] == [1.5] * 100
    assert content["f"] == f'{DEEP}\n"""{dots}' and content["e"] == f'{DEEP} "'


MEMORY = """
import json, resource, sys
from pathlib import Path
from nlac_bench.harness.runs.stored_settings import read_config
from nlac_bench.leaderboards.entry_file import read_entry
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in map(Path, sys.argv[1:]):
    try:
        (read_config if path.suffix == ".toml" else read_entry)(path)
    except Exception as error:
        print(type(error).__name__, file=sys.stderr)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_small_files_do_not_need_much_memory(tmp_path: Path) -> None:
    """Entries with millions of faults took 10 GB, which pydantic needs to describe them; a TOML file of 80 kB
    with one key took 6 GB."""
    from tests.leaderboards.factory import entry

    content = json.loads(entry("react", [True, False]).model_dump_json())
    files = []
    ones = f"[{'1,' * 2_000_000}1]"
    for name, put in {
        "task": lambda: content["outcomes"][0]["tasks"]["000"].update(success="@"),
        "by_seed": lambda: content["numbers"].update(by_seed="@"),
        "outcomes": lambda: content.update(outcomes="@"),
    }.items():
        put()
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(content).replace('"@"', ones, 1))
    files.append(tmp_path / "key.toml")
    files[-1].write_text(".".join(["a"] * 40_000) + " = 1\n")
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, *map(str, files)], capture_output=True, text=True, check=True
    )
    assert done.stderr.split() == ["EntryError"] * 3 + ["ConfigError"]
    assert int(done.stdout) < 300_000, "kilobytes"
