# memoryd: `make run` and `make test` need nothing but Python 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EVAL ?= ../shared/eval

.PHONY: help run test lint bench torture train eval clean

help:
	@echo "make run      set up, then watch your transcripts in the foreground"
	@echo "make test     set up, then linters, types and all tests"
	@echo "make bench    speed and memory, as ratios to a limit measured in the same run"
	@echo "make eval     quality of what is extracted, on the sets in EVAL=directory"
	@echo "make train    fit the weights of the embedded engine to training/sessions"
	@echo "make torture  the long campaigns behind the short ones in make test"
	@echo "make clean    remove what the others made"

# The stamp is newer than pyproject.toml once everything in it is installed.
$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "memoryd needs Python 3.11 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up $(VENV), which takes about 20 seconds ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

run: $(VENV)/installed
	@exec $(BIN)/memoryd run

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest

bench: $(VENV)/installed-dev
	$(BIN)/python -m bench

torture: $(VENV)/installed-dev
	$(BIN)/pytest --torture -m torture

train: $(VENV)/installed-dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[train]'
	$(BIN)/python -m training --folds

eval: $(VENV)/installed-dev
	$(BIN)/python -m evaluation $(EVAL)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
