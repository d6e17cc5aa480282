# `make run` and `make test` need Python 3.11 or newer and nothing else; both set up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS ?= test,dev,docs,models
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help run test check lint types unit consistency lit conformance fuzz browser system-tools docs bench bench-gpu bench-compilers clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(STAMP): pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: nn-opt needs Python 3.11 or newer, $(PYTHON) is older; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	@touch $@

run: $(STAMP)  ## compile and run a real model, compare it with onnxruntime
	$(BIN)/python examples/what_is_this_file.py README.md

test: check lit unit  ## everything that has to hold

check: lint types  ## the quick part

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/pyright --project pyproject.toml --pythonpath $(BIN)/python

.models/.fetched: $(STAMP) bench/real_models.py
	-$(BIN)/python -m bench.real_models
	@touch $@

# Tests of the explorer run in it; where it cannot be had, they are skipped and say so.
.browser/.fetched: $(STAMP) package.json tools/browser.py tools/unpack_browser.mjs
	-$(BIN)/python tools/browser.py
	@mkdir -p .browser && touch $@

browser: .browser/.fetched  ## fetch a headless Chromium for the tests of the explorer

system-tools:  ## install what tests of backends need of the system (as root, by apt)
	@$(PYTHON) tools/system_tools.py

unit: $(STAMP) .models/.fetched .browser/.fetched
	$(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist worksteal

consistency: $(STAMP)  ## all operators in all element types on all backends: docs/backends.md
	NN_OPT_WHOLE_MATRIX=1 $(BIN)/python -m pytest -q -n auto --maxprocesses 8 test/unit/backends/consistency

lit: $(STAMP)
	$(BIN)/lit -q test/lit

conformance: $(STAMP)  ## ONNX's own tests, all 2,033; writes docs/conformance.json and its page
	$(BIN)/python -m conformance
	$(BIN)/python -m conformance --networks

fuzz: $(STAMP)  ## give readers random files, and draw models to run, a minute each; see CONTRIBUTING.md
	$(BIN)/python -m pip install --quiet --editable '.[fuzz]'
	$(BIN)/python -m fuzz

docs: $(STAMP)  ## build the documentation as a site, site/index.html
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bench: $(STAMP)  ## measure against the peers, in turns: on one core, on two, layer by layer
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m bench
	$(BIN)/python -m bench --threads 2
	$(BIN)/python -m bench.operators --json docs/bench-operators.json

bench-gpu: $(STAMP)  ## measure on a CUDA device, beside PyTorch where that is installed
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m bench.gpu

bench-compilers: $(STAMP)  ## measure beside PyTorch, IREE, TVM and tinygrad (2 GB of packages)
	$(BIN)/python -m pip install --quiet --editable '.[bench,bench-compilers]'
	$(BIN)/python -m bench.compilers

clean:  ## remove what the targets made
	rm -rf $(VENV) build dist site *.egg-info .pytest_cache .ruff_cache
