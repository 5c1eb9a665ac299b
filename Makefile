# What a person types. Needs Python 3.11 and make, nothing else: no uv, no root. How it is done stands in dev/make/.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo check test test-long lint fix coverage explore fuzz gpu docs site dist compiled lock audit clean
# Each run of pytest loads its tests from compiled code, which is therefore kept, in half the time.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

demo: $(STAMP) ## burst, collapse, diagnosis, change, recovery on the twin, the burst again behind the gateway, with a page; REAL=1: on a real vLLM
	$(BIN)/python dev/demo.py $(if $(REAL),--real)

explore: $(STAMP) ## every interleaving of the remedy in small worlds, the operator's step, and 31 seeded defects that must be caught
	$(BIN)/python -m tests.model.explore

fuzz: $(STAMP) ## five minutes of hostile inputs for every parser and every front; NIGHTLY=1: three hours with a seed of the day
	$(BIN)/python -m tests.fuzz.fuzz $(if $(NIGHTLY),--nightly)

gpu: $(STAMP) ## on a machine with a card and a vLLM (VLLM=path): what bench/ and the docs rest on, in 25 minutes, into bench/gpu; ARGS=--list: what that is
	$(BIN)/python -m dev.gpu $(ARGS)

docs: $(STAMP) ## make the generated pages, schemas, dashboards, rules and the picture anew
	$(BIN)/python dev/reference_pages.py
	$(BIN)/python dev/limits_schema.py
	$(BIN)/python dev/workload_rights.py
	@$(BIN)/python dev/chart.py || echo "make docs: deploy/operator was not rendered (make helm)"
	$(BIN)/python dev/dashboards/build.py
	$(BIN)/python dev/picture.py

site: $(STAMP) ## the docs as a site in build/site, searchable where it is served (python -m http.server -d build/site); a dead link ends it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

dist: $(STAMP) ## the wheel and the source archive in dist/, each checked in an environment of its own
	$(BIN)/python dev/dist.py

lock: $(STAMP) ## pin the dependencies anew
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --extra dev --generate-hashes --no-emit-package barostat pyproject.toml requirements-build.in -o requirements.lock

audit: $(STAMP) ## known vulnerabilities of what is pinned, where a database of them is reachable; else it says so
	$(BIN)/python dev/audit.py

clean: ## remove what make made here (the vLLM cache stays)
	rm -rf $(VENV) .compiled dist .vllm .mypy_cache .ruff_cache .pytest_cache

include dev/make/environment.mk dev/make/tests.mk dev/make/components.mk
