# All set-up is done here: a fresh clone needs Python 3.11 or newer and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint format docs vendor clean

demo: $(READY)  ## a classifier meets data it was not trained on: every method in a table, and report.html
	$(BIN)/auxcal demo

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

# The report's chart library, in the versions that its README.md names.
CHARTS := src/auxcal/reports/html/vendor
vendor:
	npm install --silent --no-save --prefix build/vendor d3@7.9.2 @observablehq/plot@0.6.17
	cp build/vendor/node_modules/d3/dist/d3.min.js $(CHARTS)/
	cp build/vendor/node_modules/d3/LICENSE $(CHARTS)/d3.LICENSE
	cp build/vendor/node_modules/@observablehq/plot/dist/plot.umd.min.js $(CHARTS)/
	cp build/vendor/node_modules/@observablehq/plot/LICENSE $(CHARTS)/plot.LICENSE
	cd $(CHARTS) && sha256sum *.js > SHA256SUMS

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis dist

# torch first, by its exact version, so that nothing pulls a build with gigabytes of other packages.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt pip torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --build-constraint constraints.txt \
		--editable ".[dev,docs,experiments]"
	touch $(READY)
