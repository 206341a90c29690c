# One command for each chore; `make` alone lists them. Start with `make setup`.
PYTHON ?= python3
BIN = .venv/bin
SLOW = -m "slow or hypothesis" --hypothesis-profile=thorough

.PHONY: help setup lint fix types spelling generated test slow coverage docs bench constraints ci full

help:  ## list the chores
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

setup:  ## make .venv, with everything that the other chores need, and check each commit from now on
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -e '.[dev,docs]'
	$(BIN)/pre-commit install

lint:  ## lint, format and spelling, nothing changed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell

fix:  ## lint and format, and change what a program can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types:  ## check the types
	$(BIN)/mypy

generated:  ## write again all that declarations make: schema, reference pages, plugins, golden answers (read those)
	$(BIN)/python scripts/answer_schema.py
	$(BIN)/python scripts/reference.py
	$(BIN)/python scripts/plugins.py
	$(BIN)/python -m tests.golden --write

test:  ## the default tier of the tests
	$(BIN)/python -m pytest -q

slow:  ## the slow tier: load, random kills, benchmarks, conformance, other clients, full matrices
	$(BIN)/python -m pytest -q $(SLOW)

coverage:  ## the default tier again, and which lines of the code it ran
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

docs:  ## build the site
	$(BIN)/zensical build --strict

bench:  ## the benchmarks; on a machine that does nothing else
	$(BIN)/python -m benchmarks

constraints:  ## the newest versions of what the gate installs, for every Python that pyproject.toml names
	echo hatchling | $(BIN)/uv pip compile -q --upgrade --universal --python-version 3.11 --extra dev --extra docs \
		--no-annotate --custom-compile-command 'make constraints' -o .ci/constraints.txt pyproject.toml -

ci:  ## the gate: what every change passes before it lands, in six minutes
	.ci/run

full:  ## everything, in 50 minutes; `.ci/full slow coverage` for some of the steps
	.ci/full
