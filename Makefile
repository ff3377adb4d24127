# Two commands matter: `make run` and `make test`. Everything is installed into .venv, once.
# What the bench-* targets measure is written to docs/benchmarks/; its README lists the pages.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
MUTANTS := .venv-mutants
# Everything but Spark, which needs 500 MB: the tests bring it and a Java along (dev), `make run` does without.
EXTRAS := pandas,report,cli,server
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# One process more than two cores: some tests wait for programs that they started.
JOBS ?= 3
# These tests depend on floating point: test-kernels runs them under another BLAS kernel.
KERNEL ?= Nehalem
NUMERICAL := $(wildcard $(addprefix tests/, test_kernel.py matrix estimation planning theory statistical benchmarks \
	experiments inference dependence test_dependence.py test_numeric.py test_synthesis.py test_weighting.py))

.DEFAULT_GOAL := help
.PHONY: bench-ablation bench-accuracy bench-collector bench-coverage bench-frontier bench-learning bench-limits bench-numeric bench-planning bench-proofs bench-securesum bench-spark bench-speed distributions faults mutants help run test test-kernels check docs format notebooks picture reproduce wheel clean install dev

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: install  ## Serve a survey, let Adult's people answer it, estimate, write out/report.html
	@mkdir -p out
	$(BIN)/mdrr demo --http --out out/report.html

# One BLAS thread each, else processes wait for each other. Compiled first, since tests start hundreds of commands.
# Tests are compiled too, whatever the environment says: that takes each process eight seconds.
test: dev  ## Run all tests (JOBS=3 processes); as root on Debian, install what they need
	@scripts/system
	@$(BIN)/python -m compileall -q src
	unset PYTHONDONTWRITEBYTECODE; OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests

test-kernels: dev  ## Run the numerical tests under another BLAS kernel and two threads
	OPENBLAS_CORETYPE=$(KERNEL) OPENBLAS_NUM_THREADS=2 NUMBA_NUM_THREADS=1 \
	  $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(NUMERICAL)

check: dev  ## Lint, format, strict types, import direction, doctests, the documentation site
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src
	$(BIN)/python -m pytest -q tests/test_imports.py
	$(BIN)/python -m pytest -q --doctest-modules src/mdrr --ignore=src/mdrr/server/migrations
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir out/site

docs: $(VENV)/.installed-docs  ## Build the documentation site: open site/index.html, no server needed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

format: dev  ## Rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

picture: dev  ## Draw the README's picture and the figures of the pages
	$(BIN)/python scripts/picture.py
	$(BIN)/python scripts/figures.py

notebooks: dev  ## Run the notebooks in examples/ and store what they show
	$(BIN)/python scripts/notebooks.py

reproduce: dev  ## Run the paper's experiments (1000 runs); for a first look, ARGS=--quick
	$(BIN)/python -m experiments $(or $(ARGS),--docs)

wheel: dev  ## Build dist/*.whl
	$(BIN)/python -m build --wheel --no-isolation

install: $(VENV)/.installed
dev: $(VENV)/.installed-dev  ## Install what developers need into .venv

$(BIN)/python:
	@test -n "$(PYTHON)" || { \
	  echo "mdrr needs Python 3.11 or newer and found none. Install it, or name it: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments. On Debian: apt-get install python3-venv"; exit 1; }
	@echo "Creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing mdrr[$(EXTRAS)] into $(VENV) (once)"
	@$(PIP_INSTALL) -e '.[$(EXTRAS)]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing mdrr[$(EXTRAS),dev] into $(VENV) (once)"
	@$(PIP_INSTALL) -e '.[$(EXTRAS),dev]'
	@touch $@ $(VENV)/.installed $(VENV)/.installed-docs

$(VENV)/.installed-docs: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing mdrr[docs] into $(VENV) (once)"
	@$(PIP_INSTALL) -e '.[docs]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	@echo "Installing mdrr[bench], the peers, into $(VENV) (once)"
	@$(PIP_INSTALL) -e '.[$(EXTRAS),dev,bench]'
	@touch $@ $(VENV)/.installed $(VENV)/.installed-dev

bench-numeric: dev  ## Compare banded with constant matrices on ordered attributes
	$(BIN)/python -m benchmarks.numeric

bench-securesum: dev  ## Measure time and bytes of the secure sums
	$(BIN)/python -m benchmarks.securesum

bench-proofs: dev  ## Measure time and bytes of proofs of validity
	$(BIN)/python -m benchmarks.proofs

distributions: dev  ## Test the drawn distributions with a million reports a row, in Python and JavaScript
	MDRR_LONG=1 $(BIN)/python -m pytest -q tests/browser/test_distribution.py

bench-spark: dev  ## Measure what people cost on a Spark cluster
	$(BIN)/python -W ignore -m benchmarks.spark

bench-collector: dev  ## Measure how many answers a second the collector acknowledges
	@scripts/system
	$(BIN)/python -m benchmarks.collector

faults: dev  ## Secure sums under faults five times; the collector's faults, killed 200 times under load
	for k in 1 2 3 4 5; do $(BIN)/python -m pytest -q -n $(JOBS) tests/faults || exit 1; done
	MDRR_KILLS=200 $(BIN)/python -m pytest -q tests/server/test_faults.py
	MDRR_KILLS=50 $(BIN)/python -m pytest -q tests/faults/test_aggregator_processes.py -k any_moment

bench-accuracy: $(VENV)/.installed-bench  ## Compare the paper's methods, ours and peers on eight data sets
	$(BIN)/python -m benchmarks.accuracy

bench-ablation: $(VENV)/.installed-bench  ## Compare the default estimator with itself without each part
	$(BIN)/python -m benchmarks.ablation

bench-coverage: $(VENV)/.installed-bench  ## Measure how often intervals contain the truth
	$(BIN)/python -m benchmarks.coverage

bench-planning: $(VENV)/.installed-bench  ## Compare the errors that plans predict with those that occur
	$(BIN)/python -m benchmarks.planning

bench-frontier: $(VENV)/.installed-bench  ## Compare plans for single attributes with plans for pairs
	$(BIN)/python -m benchmarks.frontier

bench-limits: $(VENV)/.installed-bench  ## Show how much separately randomized answers can tell
	$(BIN)/python -m benchmarks.limits

bench-speed: $(VENV)/.installed-bench  ## Measure how long the work takes, beside other packages
	$(BIN)/python -m benchmarks.speed

bench-learning: $(VENV)/.installed-bench  ## Train models on estimates and test them on true records
	$(BIN)/python -m benchmarks.learning

# mutmut does not work with the pytest of constraints.txt, so it has an environment of its own.
$(MUTANTS)/.installed: pyproject.toml constraints.txt
	@echo "Installing mdrr[$(EXTRAS),dev] and mutmut into $(MUTANTS) (once)"
	@$(PYTHON) -m venv $(MUTANTS)
	@grep -v '^pytest==' constraints.txt > $(MUTANTS)/constraints.txt
	@$(MUTANTS)/bin/python -m pip install --quiet --disable-pip-version-check -c $(MUTANTS)/constraints.txt \
	  -e '.[$(EXTRAS),dev]' mutmut==3.8.0 pytest==8.4.2
	@touch $@

mutants: $(MUTANTS)/.installed  ## Change the code that privacy rests on, and see whether tests fail
	$(MUTANTS)/bin/python -m benchmarks.mutants $(ARGS)

clean:  ## Remove .venv and everything generated
	rm -rf $(VENV) $(MUTANTS) out site dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
