# Two commands do everything on a fresh machine: `make run` and `make test`. Both set up .venv first.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup run floors test test-fast lint format bench docs clean

help: ## List the tasks
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(READY) ## Create .venv with everything that running and testing need

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

run: $(READY) ## Train the embedded model with NLAC on the embedded shop; print what it gained, draw the curve
	$(BIN)/nlac-bench run --agent nlac --env tau_retail

floors: $(READY) ## Play every environment with the oracle and the floor agents; print the table
	$(BIN)/nlac-bench floors

test: lint ## Lint, type check and run all tests
	$(BIN)/python -m pytest

test-fast: $(READY) ## All tests but the slow ones
	$(BIN)/python -m pytest -m "not slow"

lint: $(READY) ## ruff and mypy
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## Run the benchmarks (ratios measured in one run)
	$(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-columns=median,iqr,ops,rounds

docs: $(READY) ## Regenerate the figures in docs/
	$(BIN)/python docs/figures.py

clean: ## Remove .venv and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
