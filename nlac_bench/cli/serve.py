"""``nlac-bench serve``: an environment as a server for OpenEnv clients."""

from typing import Annotated

import typer

from nlac_bench.bridges import require
from nlac_bench.cli.output import JsonFlag, console, escape, print_json


def serve(
    env: Annotated[
        str,
        typer.Option(help='The environment, as for `run`; arguments as JSON: \'NAME@{"split": "train"}\'.'),
    ],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes a free one.")] = 8000,
    as_json: JsonFlag = False,
) -> None:
    """Serve an environment to OpenEnv clients, until Ctrl-C or SIGTERM.

    Each WebSocket session plays its own episodes. An action has the field
    "message". An error of the environment is an error frame and never a reward.
    There is no password: whoever reaches the port can play.

    Examples:
      nlac-bench serve --env tau_retail
      nlac-bench serve --env twenty_questions --port 0 --json
    """
    require("openenv", "openenv")
    from nlac_bench.bridges import openenv_server

    def started(url: str, name: str) -> None:
        if as_json:
            print_json({"url": url, "env": name})
        else:
            console.print(f"{escape(name)} is served at {escape(url)}; Ctrl-C ends it", soft_wrap=True)

    openenv_server.serve(env, host, port, started)
