"""How ``test_commands.py`` runs each command that the documentation shows.

A command is run as written, but for these rules. Keys are regular expressions, searched in the command.

- ``EXCEPTIONS``: the command is not run, for the reason that is given.
- ``SUBSTITUTIONS``: each match is replaced, in this order. ``{data}`` is the folder of the public data sets,
  ``{url}`` a local server that speaks OpenAI's protocol. The folder in which the command runs has the runs
  ``runs/A``, ``runs/B`` and ``runs/C`` (another seed of B) of agents without a model, ``runs/trained`` (NLAC,
  one gradient step), and the small files ``answers.jsonl``, ``val.jsonl`` and ``gate.toml``.
- ``ADDITIONS``: arguments that keep the command short are appended.
- ``SLOW``: the command, as it is run, takes more than 30 seconds of CPU time, or several seconds for what a
  faster test shows, so its test is marked slow.

A rule that matches no command any more fails the test, so that the lists stay short.
"""

EXCEPTIONS = {
    r"^nlac-bench serve|openenv@": "it needs the extra openenv; tests/bridges serves and plays environments",
    r"^pre-commit install": "it changes the git hooks of the checkout",
    r"example_echo|reward_weighted|\./examples/plugin": (
        "they need the example package installed; tests/plugins/test_example.py runs them with these "
        "substitutions: pip also gets --no-deps --no-build-isolation --no-index --target FOLDER, training "
        "also --limit 3 and small --train settings, the estimate also --budget steps=7"
    ),
    r"vllm\.entrypoints|doctor --server": "it needs vLLM servers; tests/vllm starts some, as the page does",
    r"--agent echo": "no test installs docs/plugins.md's package; test_python_examples_run runs its code",
    r"^torchrun ": "it trains on several ranks; tests/cli/test_ranks_killed.py runs it with small settings",
    r"bench-gpu": "it needs GPUs; tests/cluster/test_bench_gpu.py measures small shapes on a CPU",
    r"^nlac-bench tiny build": "it trains for 45 minutes; tests/tiny/test_build.py builds with a few steps",
    r"^nlac-bench tiny report --gates": "it asks a model a thousand times; tests/tiny/test_worlds.py runs it",
    r"^nlac-bench sweep configs/sweeps/(miniature|retail|shop|twenty_questions|worlds|worlds_\w+)\.toml": (
        "it trains for hours; tests/sweep/test_sweep.py runs the command with a smaller file"
    ),
    r"workshop\.(named_procedures|critic_pairs|kept_mistakes)": (
        "it reads runs of hours; the test of the same name in tests/tiny tests it"
    ),
    r"^pip install 'nlac-bench\[": (
        "the package is not on an index; `make setup` installs this extra from the checkout"
    ),
    r"export inspect": "it needs inspect-ai; tests/bridges/test_exports.py runs it",
    r"browsergym|--env miniwob": "it needs BrowserGym and a browser; tests/bridges/browsergym plays there",
    r"data fetch smollm2": "it downloads 93 MB; `make smollm2` runs it before the slow tests",
    r"^pip install ray": "it changes the environment; it is for the machines of one server with many GPUs",
    r"^nlac-bench verify": "its entry has a hash in its name; tests/leaderboards/test_submit.py runs it",
    r"^python -m nlac_bench\.leaderboards\.floors": (
        "it plays whole test splits; tests/leaderboards/test_reported.py plays one floor"
    ),
}

SUBSTITUTIONS = {
    r"submit runs/react": "submit runs/A",
    r"submit runs/nlac-0,runs/nlac-1 runs/ppo-0,runs/ppo-1": "submit runs/A runs/B",
    r" …$": "",  # "and further options"
    r"^make (?!help)": "make -n ",  # prints what would be run; the gate and its parts are too long for a test
    # mentioned without arguments
    r"^nlac-bench (resume|data fetch|envs check|critiques|compare|run|launch)$": r"nlac-bench \1 --help",
    r"^nlac-bench launch (?!.*--dry-run)": "nlac-bench launch --dry-run ",
    r"doctor --base-url http://localhost:8000/v1 --model NAME": "doctor --base-url {url} --model stub",
    r"--model NAME --base-url http://localhost:8000/v1": "--model stub --base-url {url} --limit 2",
    r"--env tau_retail(?= --offline)": "--env math500_hard",  # the environment of ``runs/trained``
    r"(--model|--offline|critiques|view|watch) (runs/…|DIR)": r"\1 runs/trained",
    r"(resume|score) (runs/…|DIR)": r"\1 runs/A",
    r"report runs/sweep": "report runs/A",
    r"compare S0,S1,S2 S0/base,S1/base,S2/base": "compare runs/B,runs/C runs/C,runs/B",
    r"compare A B": "compare runs/A runs/B",
    r"--seed S\b": "--seed 0",
    r"tau_pairs --stride 60": "tau_pairs --stride 1000",  # test_tau_pairs.py measures more of the phrases
    r"tau_outside --stride 12": "tau_outside --stride 200",  # as test_tau_outside.py
    r"--expected FILE": "--data {data}/tau_bench --expected {data}/tau_bench/expected_sample.jsonl",
    r"grade FILE\.jsonl": "grade answers.jsonl",
    r"export prompts RUN --out FILE": "export prompts runs/A --out rows.jsonl",
    r"export (\w+) runs/nlac": r"export \1 runs/A",
    r"(train|val)\.parquet": "val.jsonl",  # parquet needs the extra frames; test_prompts.py reads it
    r"--model smollm2": "--model tiny",  # it is downloaded by the slow tests; tests/real trains it
    r"my_pkg:": "examples.register_env:",
    r"(?<=[ '])count_down": "examples.register_env:CountDown-v0",  # test_registry.py installs this name
    r"envs check ID": "envs check examples.register_env:CountDown-v0",
    r"^(nlac-bench run (?!.*--(agent|config)).*)": r"\1 --agent oracle",
}

TRAINED = r"--agent (nlac|ppo|grpo|rft|sac|nlrl|nlql|self_distillation|agent_prm)\b"
ADDITIONS = {
    r"^nlac-bench submit runs": "--partial",  # ``runs/A`` and ``runs/B`` are parts of a split
    r"^nlac-bench run .*--agent (oracle|random)": "--limit 2",
    rf"^nlac-bench run .*{TRAINED}": "--dry-run",
    rf"^nlac-bench eval .*{TRAINED}": "--limit 2",
    r"^nlac-bench floors": "--env tau_retail --episodes 3",
    r"^nlac-bench tiny report": "--env twenty_questions --tasks 2 --role-episodes 1",
    r"^python -m benchmarks\.simulations": "--only power --draws 20",
    r"^python -m tests\.simulators\.customer\.tau_matrix": "--stride 1000",
}

SLOW = {
    r"runs/trained": "it needs a training run",
    r"^nlac-bench theory": "it iterates until the policy is optimal",
    r"--expected \{data\}": "test_cli.py verifies the same files and reads what is found",
    r"^python -m tests\.simulators\.customer\.tau_matrix": "test_tau_matrix.py measures the same phrases",
    r"^nlac-bench tiny report": "it asks the model in every role",
}
