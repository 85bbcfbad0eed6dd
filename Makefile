# Two commands matter to a newcomer: `make judge` and `make test`. Everything else is a part of them.
# The environment lives in .venv and is made again only when the lock or pyproject.toml changes.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
FINGERPRINT := $(firstword $(shell cat requirements/lock.txt pyproject.toml | sha256sum))
STAMP := $(VENV)/.installed-$(FINGERPRINT)
CLIENT := web
BUNDLE := judge/web/dist/manifest.json
MODEL := problems/flash-forward/submissions/accepted/plain.cu

.PHONY: help setup web judge test lint check verify schema lock clean

help: ## Say what each target does
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: $(STAMP) ## Make .venv and install the locked packages

$(STAMP): | requirements/lock.txt
	python="$$(scripts/find-python)" && "$$python" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
		--require-hashes -r requirements/lock.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	rm -f $(VENV)/.installed-*
	touch $@

web: ## Build the scripts of the pages; needs Node.js 18 or newer
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(BUNDLE); \
	else echo "npm is not installed: the pages of judge serve will do without JavaScript." \
		"Install Node.js 18 or newer and run make web."; fi

# Packages run no scripts of theirs: nothing here needs one.
$(BUNDLE): $(CLIENT)/package-lock.json $(CLIENT)/build.mjs $(wildcard $(CLIENT)/src/*.js)
	cd $(CLIENT) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	cd $(CLIENT) && node build.mjs

judge: setup ## Set up and judge a model solution of flash-forward
	$(BIN)/python practice/judge.py test $(MODEL)

lint: setup ## Format, style, types and import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# More processes than cores: tests of a service and of boxes wait as much as they compute.
check: setup web ## Every test but no linters
	$(BIN)/pytest -n $$(( $$(nproc) < 2 ? 3 : 4 )) --dist loadfile --no-loadscope-reorder -m "not gpu"
	if $(BIN)/python -c "import sys; from judge.gpu import gpu_present; sys.exit(not gpu_present())"; then \
		$(BIN)/pytest -m gpu; fi

# The scripts of the pages are built while the environment is made and linted.
test: ## Set up, lint and run every test (GPU tests only where there is a GPU)
	$(MAKE) --no-print-directory -j 2 lint web
	$(MAKE) --no-print-directory check

verify: setup ## Prove every problem: accepted pass, wrong fail, mutants are caught
	$(BIN)/python practice/judge.py verify

lock: setup ## Compute requirements/lock.txt anew from pyproject.toml
	scripts/make-lock $(BIN)/python

clean: ## Remove the environment and everything that was generated
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist \
		judge/web/dist $(CLIENT)/node_modules *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
