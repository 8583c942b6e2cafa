# The two commands to know: `make demo` and `make test`. Both set up everything they need.
VENV ?= .venv
PYTHON = $(VENV)/bin/python
# As it was typed: a query may hold $, quotes and what make would take for a function.
override Q := $(value Q)
export Q
export VENV

.DEFAULT_GOAL := help
.PHONY: help setup demo search test lint format bench clean

help:  ## Show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

setup:  ## Virtual environment, package, Chromium
	@scripts/setup dev

demo: setup  ## The main job on seven loopback engines: one is challenged, one blocks; no key, no internet
	@$(PYTHON) -m tests.lab.demo

search: setup  ## The same live: make search Q="pour over coffee ratio"
	@test -n "$$Q" || { echo 'give a query: make search Q="pour over coffee ratio"' >&2; exit 2; }
	@$(PYTHON) -m websearch.cli search --provider public --explain -- "$$Q"

test: setup  ## All tests: real sockets on loopback, a real Chromium
	$(PYTHON) -m pytest $(ARGS)

lint: setup  ## ruff, mypy --strict
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy

format: setup  ## Format the code
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

bench: setup  ## Ratios against peers, side by side in one run
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@$(PYTHON) -m bench

clean:  ## Remove what setup and tools made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info build dist
