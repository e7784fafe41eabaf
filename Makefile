# All set-up is done here: a fresh clone needs Python 3.11 or newer and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint format docs clean

demo: $(READY)  ## a classifier meets data it was not trained on; every method, in a table
	$(BIN)/python examples/digits.py

test: $(READY) lint  ## lint, types, imports and all tests
	$(BIN)/python -m pytest -n 2

lint: $(READY)
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .

docs: $(READY)  ## the documentation, to be read from site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis dist

# torch first, by its exact version, so that nothing pulls a build with gigabytes of other packages.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt pip torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --build-constraint constraints.txt \
		--editable ".[dev,docs,experiments]"
	touch $(READY)
