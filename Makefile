# Two commands do everything: `make demo` and `make test`. README.md has them as plain commands.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check docs figures tree-figures wheel

demo: $(VENV)/.installed
	$(BIN)/assay run builtin:delivery-eval

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) docs

docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir site

# CORPUS=FOLDER measures its attacks too; without it, the page keeps what it says of them.
figures: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/jail.py
	$(BIN)/python benchmarks/isolation.py $(if $(CORPUS),--corpus $(CORPUS))

tree-figures: $(VENV)/.installed-dev
	$(PIP) -e '.[benchmarks]'
	$(BIN)/python benchmarks/trees.py

wheel: $(VENV)/.installed-dev
	.ci/wheel $(BIN)/python

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) -e '.[dev]'
	touch $@
