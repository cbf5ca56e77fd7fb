# Two commands matter: `make demo` and `make test`. Both set up what is missing, and run again do
# only what is left. NO_INSTALL=1 keeps them from installing system packages.
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help demo test quick check format engine browser space soak clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/demo engine ## run real containers on the embedded dataset and make a leaderboard of them
	@$(BIN)/evaluate demo

test: $(VENV)/test check engine browser ## every test this machine can run, containers and browser included
	@$(BIN)/pytest --run-docker --run-browser --run-wheel -q

quick: $(VENV)/test check ## the tests that need neither a container engine nor a browser
	@$(BIN)/pytest -q

check: $(VENV)/test ## lint, format and types: the same in pre-commit and in CI
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(VENV)/test ## put the code into its format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

engine: ## make sure that a Docker engine answers
	@bash .ci/engine.sh

browser: ## make sure that a Chromium is there
	@bash .ci/browser.sh

space: $(VENV)/space ## serve the leaderboard Space on this machine
	@$(BIN)/python leaderboard_space/app.py

soak: $(VENV)/test engine ## 2,000 attempts with random kills
	@$(BIN)/python benchmarks/soak.py

clean: ## remove the virtual environment and build products
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# One stamp per set of extras; a changed pyproject.toml or C++ source installs again.
NATIVE := evaluator/native/CMakeLists.txt $(wildcard evaluator/native/src/*)

$(VENV)/bin/python:
	@echo "making the virtual environment $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "segtrial needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

define install
	@echo "installing segtrial$(1) into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c .ci/constraints.txt -e '.$(1)'
	@touch $@
endef

$(VENV)/demo: $(VENV)/bin/python pyproject.toml .ci/constraints.txt $(NATIVE)
	$(call install,)

$(VENV)/test: $(VENV)/bin/python pyproject.toml .ci/constraints.txt $(NATIVE)
	$(call install,[test])

$(VENV)/space: $(VENV)/bin/python pyproject.toml .ci/constraints.txt
	$(call install,[space])
