# Two commands do everything on a fresh machine that has python3 (with venv) and make: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
# Images of containers often set it; the tests start hundreds of interpreters, and each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all locked cluster coverage unit people-test lint types layers bench docs results check clean

demo: $(VENV)/user
	$(BIN)/countenance demo --out out/demo

test: unit

# A stamp per kind of installation: editing pyproject.toml or constraints.txt installs again.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "countenance needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "python3 has no venv; on Debian: apt-get install python3-venv"; exit 2; }

$(VENV)/user: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[view,opencv]'
	@touch $@

$(VENV)/dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/user

# What CI installs: the files whose hashes constraints-hashed.txt lists, and no others. The list is complete, so pip resolves
# nothing (a newer release of a package asked for with an extra would be refused); pip check proves that nothing is missing.
locked: $(VENV)/bin/python constraints-hashed.txt pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r constraints-hashed.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	$(BIN)/pip check
	@touch $(VENV)/user $(VENV)/dev

unit: $(VENV)/dev
	$(BIN)/python -m pytest

# Ray nodes on this machine; alone, because they take both cores.
cluster: $(VENV)/dev
	$(BIN)/python -m pytest -n 0 -m cluster tests/run

# The renderer of the people is a project of its own; it needs mitsuba, anny and an LLVM library (people/README.md).
$(VENV)/people: $(VENV)/dev people/pyproject.toml
	$(PIP) -e people
	@touch $@

people-test: $(VENV)/people
	cd people && ../$(BIN)/python -m pytest
	cd people && ../$(BIN)/mypy

test-all: $(VENV)/dev
	$(BIN)/python -m pytest -m 'slow or not slow'

# The tests of `make test`, and the share of the package's lines that they run (settings: [tool.coverage] in pyproject.toml).
coverage: $(VENV)/dev
	@mkdir -p out/coverage
	$(BIN)/python -m pytest --cov --cov-report=term --cov-report=xml

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy

layers: $(VENV)/dev
	$(BIN)/lint-imports

check: unit lint types layers

bench: $(VENV)/dev
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# The documentation as a site; without a connection. Look at it: python3 -m http.server --directory out/site
docs: $(VENV)/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

# The JSON that the documentation quotes and tests compare it with (docs/lab/testing.md says what is not yet in it), and
# every picture of README and docs: an empty tile is an error.
results: $(VENV)/dev
	$(BIN)/python tools/dependency_sizes.py
	$(BIN)/python tools/people_results.py
	$(BIN)/python tools/docs_pictures.py

clean:
	rm -rf $(VENV) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
