"""Prints what share of the package's lines the tests run, and the files with most lines that no test runs."""

import json
import sys
from pathlib import Path


def main(path: str, most: int = 20) -> None:
    """Print the table of a JSON file that SlipCover has written."""
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    lacking = {name: file["summary"]["missing_lines"] for name, file in found["files"].items()}
    for name in sorted(lacking, key=lambda name: -lacking[name])[:most]:
        percent = found["files"][name]["summary"]["percent_covered"]
        print(f"{lacking[name]:5d} lines not run, {percent:3.0f} % run: {name}")
    print(f"lines of nlac_bench that these tests run: {found['summary']['percent_covered']:.1f} %")


if __name__ == "__main__":
    main(sys.argv[1])
