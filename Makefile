# make demo    a tiny model of ours on nine tasks, beside the right answers, in an environment of its own (.venv)
# make test    the tests: units and stories
# make soak    the long ones: kills, hostile files, fresh environments, wheels, examples of the docs, a real browser
# make snapshots  what the tests expect a person to read, written anew; shows what changed
# make bench   what mmeval costs: all figures beside their goals, 45 minutes; BENCH="--quick ratio" is a look at one
# make mutants which of 500 small faults, put into the product one at a time, the tests notice: hours, once a month
# make check   what must hold before a commit: format, lint, strict types, tests
# make docs    the pages of docs/ as a site, in build/docs
#
# All that is needed is Python 3.11 or newer with pip. VENV=FOLDER uses another environment, PYTHON=COMMAND another
# interpreter to create it with, TESTS="-k name" some of the tests. On Linux, pip brings torch with gigabytes of
# CUDA; with PIP_EXTRA_INDEX_URL set to the index of its CPU builds (see pytorch.org's own instructions), a tenth of that.

VENV ?= .venv
PYTHON ?=
TESTS ?=
BIN := $(VENV)/bin
CONSTRAINTS := constraints-ci.txt
PACKAGING := setup.cfg setup.py pyproject.toml $(CONSTRAINTS)
INSTALL := PYTHONWARNINGS=ignore $(BIN)/python -m pip install -q -c $(CONSTRAINTS) -e
BENCH ?=
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --max-worker-restart 0

# The tests start hundreds of Python processes, which would compile the whole product each.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test soak snapshots bench mutants check static format lint types docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/demo.stamp
	@$(BIN)/python -m scripts.demo

test: $(VENV)/dev.stamp
	$(PYTEST) $(TESTS)

soak: $(VENV)/dev.stamp
	$(PYTEST) tests/soak $(TESTS)

# A snapshot that no test uses fails `make test`; here it is removed.
snapshots: $(VENV)/dev.stamp
	$(BIN)/python -m pytest tests/stories/words --snapshot-update
	git diff --stat -- tests/stories/words
	git diff -U1 -- tests/stories/words

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks $(BENCH)

mutants: $(VENV)/dev.stamp
	@mkdir -p build/mutants
	$(BIN)/python -m scripts.mutants draw 500 --seed $(or $(SEED),17) >build/mutants/faults.jsonl
	$(BIN)/python -m scripts.mutants run build/mutants/faults.jsonl --work build/mutants

check: static test

static: format lint types

format: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .

# The checker of imports follows no links, so it reads a copy: tasks, metrics and model_backends as parts of mmeval.
lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	@rm -rf .layers && mkdir .layers && cp -r mmeval .layers/ && cp -r tasks metrics model_backends .layers/mmeval/
	cd .layers && $(abspath $(BIN))/lint-imports --config ../.importlinter --no-cache

types: $(VENV)/dev.stamp
	$(BIN)/mypy -p mmeval -p tests -p scripts -p benchmarks

# A warning is an error: a link that leads nowhere, a page that no link reaches, a docstring that cannot be read.
docs: $(VENV)/docs.stamp
	$(BIN)/python -m sphinx -q -W -n --keep-going -b html -c docs -d build/doctrees . build/docs
	@echo build/docs/index.html

clean:
	rm -rf .venv .layers build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache

$(VENV)/dev.stamp: $(PACKAGING) | $(BIN)/python
	$(INSTALL) ".[dev]"
	@touch $(VENV)/demo.stamp $(VENV)/docs.stamp $@

$(VENV)/docs.stamp: $(PACKAGING) | $(BIN)/python
	$(INSTALL) ".[docs]"
	@touch $@

$(VENV)/demo.stamp: $(PACKAGING) | $(BIN)/python
	@echo "installing into $(VENV), once, two minutes: $(VENV)/install.log"
	@$(INSTALL) ".[hf]" >$(VENV)/install.log 2>&1 || { cat $(VENV)/install.log >&2; exit 1; }
	@touch $@

# Debian keeps the part of venv that brings pip in a package of its own; pip can put itself there just as well.
$(BIN)/python:
	@for python in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python); do \
		"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
		"$$python" -m venv $(VENV) >/dev/null 2>&1 && exit 0; \
		rm -rf $(VENV); \
		"$$python" -m venv --without-pip $(VENV) \
			&& "$$python" -m pip --python $(VENV)/bin/python install -q pip && exit 0; \
		rm -rf $(VENV); exit 1; \
	done; \
	echo "mmeval needs Python 3.11 or newer and found none as $(or $(PYTHON),python3);" \
		"install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1
