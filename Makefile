# The whole interface of the repository. Needs Python 3.11 and make, nothing else: no uv, no root.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test test-long check fix vllm prometheus cluster cluster-down cluster-binaries lock docs clean explore
# Each worker of pytest loads all tests: from compiled code, which is therefore kept, in half the time.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "make: Python 3.11 or newer is needed, " + sys.executable + " is " + sys.version.split()[0] + "; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

check: $(STAMP) ## format, lint, types, import contracts, unit, scenario and model tests (under a minute)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -n 2 $(wildcard tests/arch tests/unit tests/scenario tests/model)

fix: $(STAMP) ## format and mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: $(STAMP) $(if $(filter true,$(CI)),vllm prometheus cluster-binaries) ## every test; with CI=true the real vLLM, Prometheus and Kubernetes are set up first and must be there
	$(MAKE) check
	$(BIN)/pytest -rs -m "not long" tests/parity tests/integration tests/cluster

test-long: $(STAMP) ## remedies carried out on the real cluster, minutes each; on a quiet machine
	$(BIN)/pytest -rs -m long tests/cluster

explore: $(STAMP) ## every interleaving of the remedy in small worlds, and ten seeded defects that must be caught
	$(BIN)/python -m tests.model.explore

demo: $(STAMP) ## burst, collapse, diagnosis, change, recovery on the twin, in a minute, with a page; REAL=1: the real vLLM in pressure
	$(BIN)/python dev/demo.py $(if $(REAL),--real)

vllm: ## the real vLLM on CPU, in an environment of its own (minutes once, then cached; safe to interrupt)
	$(PYTHON) dev/setup_vllm.py

prometheus: ## a real Prometheus for the twin's tests: Debian's package in the cache, not installed (no root)
	$(PYTHON) dev/setup_prometheus.py

cluster: $(STAMP) vllm ## a real Kubernetes on this machine with the real vLLM in its pods (root, Linux; minutes once, then seconds)
	$(BIN)/python -m dev.cluster up

cluster-down: $(STAMP) ## take the cluster away without a trace
	$(BIN)/python -m dev.cluster down

cluster-binaries: $(STAMP)
	@$(BIN)/python -m dev.cluster build

lock: $(STAMP) ## pin the dependencies anew
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --extra dev --generate-hashes --no-emit-package barostat pyproject.toml requirements-build.in -o requirements.lock

docs: $(STAMP) ## make the generated pages, schemas and the picture anew
	$(BIN)/python dev/reference_pages.py
	$(BIN)/python dev/limits_schema.py
	$(BIN)/python dev/picture.py

clean: ## remove what make made here (the vLLM cache stays)
	rm -rf $(VENV) .vllm .mypy_cache .ruff_cache .pytest_cache
