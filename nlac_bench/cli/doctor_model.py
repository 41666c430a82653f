"""``nlac-bench doctor --model FOLDER``: what works with a model that runs on this machine."""

from dataclasses import asdict
from pathlib import Path

import typer

from nlac_bench import pretrained, tiny
from nlac_bench.cli.output import console, escape, print_json
from nlac_bench.errors import ConfigError
from nlac_bench.harness.measure.engines import is_named, local_model


def check_model(name: str, as_json: bool) -> None:
    """Print what works with a model; exit with code 1 if it cannot play."""
    if not is_named(name) and not Path(name).is_dir():
        raise ConfigError(
            f"--model {name}: there is no such folder; pass a model's folder, or "
            f"{', '.join((*tiny.FOLDERS, *pretrained.MODELS))}; add --base-url or --server for a model on a "
            "server"
        )
    folder = local_model(name)
    from nlac_bench.rollout.engines.hf.examine import examine  # torch takes seconds to import

    found = examine(folder)
    if as_json:
        print_json(asdict(found))
    else:
        console.print(f"{escape(folder)}: {'ok' if found.ok else 'cannot be used'}", soft_wrap=True)
        yes, unknown = {True: "yes", False: "no"}, "unknown"
        rows = {
            "chat template": yes[found.chat_template],
            "system role": yes[found.system_role],
            "tools (--agent tool_calling)": yes[found.tools],
            "end tokens": ", ".join(found.end_tokens) or unknown,
            "context": unknown if found.context is None else f"{found.context:,} tokens",
            "vocabulary": f"{found.tokens or 0:,} tokens, embeddings for {found.embeddings or 0:,}",
        }
        for what, said in rows.items():
            console.print(f"{what}: {escape(said)}", soft_wrap=True)
        for problem in found.problems:
            console.print(f"- {escape(problem)}", soft_wrap=True)
    if not found.ok:
        raise typer.Exit(1)
