# All set-up is done here: a fresh clone needs Python 3.11 or newer and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BASE := .venv-base
DEMO := .venv-demo
LOWEST := .venv-lowest
BENCH := .venv-bench
DIRICHLETCAL := .venv-bench-dirichletcal
PYTHON311 ?= python3.11
PYTHON312 ?= python3.12

.PHONY: demo test check base kernels lowest coverage lint format fill outputs docs attack bench bench-quick vendor clean

# Where all is set up, the demo needs no environment of its own.
TRIED := $(if $(wildcard $(READY)),$(VENV),$(DEMO))
demo: $(TRIED)/.ready  ## a classifier meets data it was not trained on: the methods in a table, and report.html
	$(TRIED)/bin/auxcal demo

# The tests start hundreds of processes; each would compile all that it imports again.
unexport PYTHONDONTWRITEBYTECODE

# Threads wait for one another longer than the small arrays of the tests take, the more so on a busy machine.
test check base lowest coverage: export OMP_NUM_THREADS := 1

test:  ## lint, types, imports and all tests; one environment is set up while the base is tried in the other
	$(MAKE) --jobs 2 lint base
	$(BIN)/python -m pytest --quiet -n 2 --dist loadgroup --after $(BASE)/passed
	$(MAKE) kernels

# What is frozen, and numbers that tests know, on other processors, as far as this one can work like them.
NUMERIC := tests/test_golden.py tests/cli/test_frozen.py tests/calibrators/ccac_x/test_correction.py \
	tests/calibrators/ccac_x/test_open_map.py tests/calibrators/ccac_x/test_score_maps.py tests/calibrators/test_linear.py \
	tests/calibrators/ccac_x/test_shared_curve.py -k "not (parts or parquet or npy or safetensors or quirks or types)"
kernels: export OMP_NUM_THREADS := 1
kernels: $(READY)  ## the frozen and the numeric tests again, with the linear algebra of other processors
	OPENBLAS_CORETYPE=Haswell $(BIN)/python -m pytest --quiet -n 2 $(NUMERIC)
	OPENBLAS_CORETYPE=Prescott NPY_DISABLE_CPU_FEATURES=X86_V3 ATEN_CPU_CAPABILITY=default \
		$(BIN)/python -m pytest --quiet -n 2 $(NUMERIC)

# The slow half is left to `make test`: missing extras, networks, CCAC-X's maps, and the promises of all but two methods.
QUICK := tests/core tests/metrics tests/thresholds tests/labelling tests/testing tests/calibrators \
	tests/test_predictions.py tests/test_repository.py
check: lint  ## lint, types and the quick half of the tests, in under 90 seconds
	$(BIN)/python -m pytest --quiet -n 2 $(QUICK) --ignore tests/core/test_extras.py \
		--ignore tests/calibrators/test_auxiliary.py --ignore tests/calibrators/ccac_x \
		-k "not public_module and not keeps_every_promise or every_metric or (every_calibrator and (-platt or -ccac-x))"

base: $(BASE)/.ready  ## the wheel without extras, in an environment of its own, and the tests of what it promises
	$(call install-wheel,--force-reinstall --no-deps)
	PYTHONPATH=$(CURDIR)/src $(BASE)/bin/python -m pytest --quiet -n 2 --dist loadgroup --write-passed $(BASE)/passed

lowest: $(LOWEST)/.ready  ## the tests of the base, tables and commands with the lowest versions that are permitted
	$(LOWEST)/bin/python -m pytest --quiet -n 2 --dist loadgroup

coverage: $(READY)  ## which branches of the library the tests take, file by file and in all
	$(BIN)/python -m pytest --quiet -n 2 --dist loadgroup --cov --cov-report term

lint: $(READY)
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .

fill: $(READY)  ## numbers, tables and code of the pages, from the files that they come from
	$(BIN)/python docs/fill.py

outputs: $(READY)  ## what the commands and the Python of the guides print, and the notebook
	$(BIN)/python docs/outputs.py

docs: $(READY)  ## the documentation, to be read from site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(BENCH)/.ready  ## time and memory beside the peers, into docs/evidence/performance.md; takes about an hour
	$(BENCH)/bin/python -m benchmarks.speed

bench-quick: $(BENCH)/.ready  ## the same with fewer rows, printed alone; under three minutes
	$(BENCH)/bin/python -m benchmarks.speed --quick

attack: $(READY)  ## extreme numbers, damaged files, interruptions, into docs/evidence/reliability.md; under ten minutes
	$(BIN)/python -m benchmarks.attack
	$(BIN)/python docs/fill.py

# The report's chart library, in the versions that its README.md names.
CHARTS := src/auxcal/report/html/vendor
vendor:
	npm install --silent --no-save --prefix build/vendor d3@7.9.2 @observablehq/plot@0.6.17
	cp build/vendor/node_modules/d3/dist/d3.min.js $(CHARTS)/
	cp build/vendor/node_modules/d3/LICENSE $(CHARTS)/d3.LICENSE
	cp build/vendor/node_modules/@observablehq/plot/dist/plot.umd.min.js $(CHARTS)/
	cp build/vendor/node_modules/@observablehq/plot/LICENSE $(CHARTS)/plot.LICENSE
	cd $(CHARTS) && sha256sum *.js > SHA256SUMS

clean:
	rm -rf $(VENV) $(BASE) $(LOWEST) $(DEMO) $(BENCH) $(DIRICHLETCAL) site .pytest_cache .mypy_cache .ruff_cache .hypothesis dist

# torch first, by its exact version, so that nothing pulls a build with gigabytes of other packages. Modules are compiled
# when they are imported, which most of them never are.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt pip torch
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --build-constraint constraints.txt \
		--editable ".[all,dev,docs]"
	touch $(READY)

$(DEMO)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet --no-compile --constraint constraints.txt --editable ".[cli]"
	touch $(DEMO)/.ready

# The wheel as a user gets it, without extras; its size is measured before pytest comes on top.
WHEEL := build/wheel
$(BASE)/.ready: pyproject.toml constraints.txt
	rm -rf $(BASE)
	$(PYTHON) -m venv $(BASE)
	$(BASE)/bin/python -m pip install --quiet --constraint constraints.txt pip
	$(call install-wheel,)
	du --summarize --apparent-size --block-size=1M $(BASE) > build/size && mv build/size $(BASE)/size
	$(BASE)/bin/python -m pip install --quiet --constraint constraints.txt pytest pytest-xdist hypothesis
	touch $(BASE)/.ready

define install-wheel
	rm -rf $(WHEEL)
	$(BASE)/bin/python -m pip wheel --quiet --no-deps --build-constraint constraints.txt --wheel-dir $(WHEEL) .
	$(BASE)/bin/python -m pip install --quiet --constraint constraints.txt $(1) $(WHEEL)/*.whl
endef

# Python 3.11 is the lowest too.
$(LOWEST)/.ready: pyproject.toml constraints.txt .ci/lowest.py
	rm -rf $(LOWEST)
	$(PYTHON311) -m venv $(LOWEST)
	$(LOWEST)/bin/python .ci/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --constraint constraints.txt pip
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/constraints.txt \
		--build-constraint constraints.txt --editable ".[cli]" pytest pytest-xdist hypothesis
	touch $(LOWEST)/.ready

# The peers of the benchmarks. What would pull another torch, with gigabytes of other packages, comes without its needs.
# dirichletcal wants Python 3.12: where that is missing, the benchmarks say so and go on.
PEERS := netcal probmetrics numba uncertainty-calibration scikit-learn torchmetrics relplot lightning einops huggingface_hub
$(BENCH)/.ready: pyproject.toml benchmarks/constraints.txt benchmarks/constraints-dirichletcal.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --constraint benchmarks/constraints.txt pip torch
	$(BENCH)/bin/python -m pip install --quiet --constraint benchmarks/constraints.txt \
		--build-constraint constraints.txt --editable ".[cli,torch,plots]" $(PEERS)
	$(BENCH)/bin/python -m pip install --quiet --constraint benchmarks/constraints.txt --no-deps \
		torch-uncertainty torchvision timm
	if $(PYTHON312) -c "" 2>/dev/null; then \
		$(PYTHON312) -m venv $(DIRICHLETCAL) && $(DIRICHLETCAL)/bin/python -m pip install --quiet \
			--constraint benchmarks/constraints-dirichletcal.txt dirichletcal; \
	fi
	touch $(BENCH)/.ready
