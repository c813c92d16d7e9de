# One place for what a person types. `make` alone lists the targets.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# Where the default package index serves CUDA builds of torch, name the index of CPU wheels that PyTorch's
# installation page gives, to save gigabytes: make install TORCH_INDEX=ADDRESS
TORCH_INDEX ?=
# For pytest: each file's tests stay in one of two processes.
PYTEST_ARGUMENTS ?= -n 2 --dist loadfile
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SYSTEM_PACKAGES := bubblewrap libegl1 libegl-mesa0 libgl1-mesa-dri
SOURCES := schemas servers generator target_templates tests benchmarks examples
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export OMP_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help install system-packages demo test test-slow check format docs clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */\1|/' | awk -F'|' '{printf "  %-16s %s\n", $$1, $$2}'

install: system-packages $(STAMP)  ## create .venv and install everything the tests and the demo need

$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: apt-get install python3 python3-venv"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[all,video,dev]'
	@touch $@

system-packages:
	@missing=; for name in $(SYSTEM_PACKAGES); do dpkg -s $$name >/dev/null 2>&1 || missing="$$missing $$name"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing$$missing"; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; } \
	    || echo "could not install$$missing: code runs with a weaker sandbox, and rendering may fail"; \
	else echo "for the sandbox and for rendering, type: sudo apt-get install$$missing"; fi

demo: install  ## build an agent for InvertedPendulum-v5 in three minutes
	$(BIN)/agent2 build InvertedPendulum-v5 --task "keep the pole upright" --budget 3m

check: install  ## lint, format, types, floors
	$(BIN)/ruff check $(wildcard $(SOURCES))
	$(BIN)/ruff format --check $(wildcard $(SOURCES))
	$(BIN)/lint-imports
	$(BIN)/pyright

test: check  ## everything but the slow tests
	$(BIN)/pytest -q $(PYTEST_ARGUMENTS)

test-slow: install  ## minutes of training, fresh virtual environments, other people's clients
	$(BIN)/pytest -q -m slow

format: install  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix $(wildcard $(SOURCES))
	$(BIN)/ruff format $(wildcard $(SOURCES))

docs: install  ## build the documentation into site/
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	$(BIN)/mkdocs build --strict --quiet

clean:  ## remove the environment and everything that was built
	rm -rf $(VENV) site build dist .pytest_cache .ruff_cache .import_linter_cache
