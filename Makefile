# Set-up and daily commands. Needs only Python 3.11+ and make; everything else goes into .venv.
.DEFAULT_GOAL := help
.PHONY: help install demo test test-all test-live lint docs lock bench clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null || echo $(BIN)/uv)
UV_PIP := VIRTUAL_ENV=$(abspath $(VENV)) $(UV) pip
TESTS ?= tests

help: ## Show the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"mnemoscope needs Python 3.11 or newer; $(PYTHON) is {v.major}.{v.minor}. Say which to use: make PYTHON=python3.12 ...")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.build: requirements/build.txt | $(BIN)/python
	@command -v uv >/dev/null 2>&1 || $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements/build.txt
	@touch $@

$(VENV)/.core: requirements/core.txt requirements/build.txt pyproject.toml $(VENV)/.build
	@echo "installing the locked dependencies into $(VENV)"
	@$(UV_PIP) install --quiet --require-hashes -r requirements/core.txt -r requirements/build.txt
	@$(UV_PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.core
	@$(UV_PIP) install --quiet --require-hashes -r requirements/core.txt -r requirements/build.txt -r requirements/dev.txt
	@touch $@

$(VENV)/.local: requirements/local.txt $(VENV)/.dev
	@$(UV_PIP) install --quiet --require-hashes -r requirements/local.txt
	@touch $@

install: $(VENV)/.dev ## Create .venv with everything needed to run, test and lint

demo: $(VENV)/.core ## Compare seven memories on the bundled scenarios, offline; writes demo-out/report.html
	@$(BIN)/mnemoscope demo --out demo-out

test: $(VENV)/.dev ## Run the default tests (offline, under 10 minutes on 2 cores)
	@$(BIN)/python -m pytest -q -n 2 $(TESTS)

test-all: $(VENV)/.dev ## Run the heavier tests too
	@$(BIN)/python -m pytest -q -n 2 -m "not live" $(TESTS)

test-live: $(VENV)/.local ## Run the tests that ask a real small model on this machine (the first time, 127 MB are downloaded)
	@$(BIN)/mnemoscope model pull smollm2
	@$(BIN)/python -m pytest -q -m live $(TESTS)

lint: $(VENV)/.dev ## Format check, lint, types, layer rules
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

docs: $(VENV)/.core ## Write the pages that are made from docstrings
	@$(BIN)/python -m mnemoscope.evaluators.metrics.page > docs/metrics.md
	@$(BIN)/python -m mnemoscope.graphs.pages docs/architectures

lock: $(VENV)/.build ## Resolve the dependencies again and write requirements/*.txt with hashes
	@set -e; flags="--quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header"; \
	$(UV) pip compile $$flags pyproject.toml -o requirements/core.txt; \
	$(UV) pip compile $$flags --group build -c requirements/core.txt -o requirements/build.txt; \
	$(UV) pip compile $$flags --group dev -c requirements/core.txt -c requirements/build.txt -o requirements/dev.txt; \
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["local"], sep="\n")' \
	| $(UV) pip compile $$flags --no-annotate -c requirements/core.txt - -o requirements/local.txt

bench: $(VENV)/.dev ## Measure hot paths; prints ratios against a floor or a peer in the same run
	@for file in benchmarks/*.py; do $(BIN)/python $$file || exit 1; done

clean: ## Remove .venv, caches and demo output
	@rm -rf $(VENV) demo-out build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
