# What `check` and `test` run, and in which order.

.PHONY: lint-types lint-style lint-arrows others fuzz-short beside-real beside-twins on-cluster parity alone sweep on-compiled

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
	$(if $(filter true,$(CI)),$(MAKE) -j 4 -O vllm envoy ray helm debian cluster-binaries)
	$(MAKE) $(if $(filter true,$(CI)),lint coverage on-compiled,check EXAMPLES=50)
	@rm -f $(TOLD)
	TOLD_IN=$(TOLD) $(MAKE) $(if $(filter true,$(CI)),-j 3 -O) beside-twins on-cluster beside-real parity sweep $(if $(filter true,$(CI)),others) || (cat $(TOLD); exit 2)
	$(MAKE) alone

# Sockets, processes and real components on a machine that others use too: what fails is tried up to twice more, and told as RERUN with what
# it said before. Not what is pure (`coverage`), and nothing in `check`.
AGAIN := -rfEsR --reruns 2
BESIDE := $(AGAIN) --durations=25
# Of several long outputs, one after the other: what failed is told again at the end.
TOLD := $(CURDIR)/$(VENV)/failed.txt

# With the lowest priority, beside what mostly waits.
sweep: $(STAMP)
	nice -n 19 $(BIN)/pytest -n 2 $(AGAIN) -m sweep $(PURE_TESTS) $(OTHER_TESTS)
	$(if $(filter true,$(CI)),nice -n 19 $(MAKE) fuzz-short)

fuzz-short: $(STAMP) # the same inputs every time: what is new is for the nightly run to find
	$(BIN)/python -m tests.fuzz.fuzz --jobs 2 --inputs 1000 --busy

# The compiled form does what the pure one does: the same tests, from its own environment.
on-compiled: .compiled/.installed
	.compiled/bin/barostat version | grep "gateway: compiled"
	.compiled/bin/python -m pytest -n 2 $(AGAIN) -m "not long and not alone" tests/unit/admit tests/unit/gateway tests/unit/judge/experiments tests/integration/test_gateway.py tests/integration/test_gateway_hostile.py

# Most of these is waiting for one engine's one busy thread: CI runs them side by side. The real engine is one at a time.
ON_REAL := $(shell grep -lE "engine_factory|pooling_engine|no_engine" tests/integration/test_*.py)

beside-real: $(STAMP)
	$(BIN)/pytest $(BESIDE) -m "not long and not alone" $(ON_REAL)

beside-twins: $(STAMP)
	$(BIN)/pytest $(BESIDE) -m "not long and not alone" $(filter-out $(ON_REAL),$(wildcard tests/integration/test_*.py))

on-cluster: $(STAMP)
	$(BIN)/pytest $(BESIDE) -m "not long and not alone" tests/cluster

parity: $(STAMP)
	$(BIN)/pytest $(BESIDE) -m "not long" tests/parity

alone: $(STAMP) # what judges how long things take has the machine to itself
	$(BIN)/pytest $(BESIDE) -m "alone and not long" tests/integration tests/cluster

others: $(STAMP)
	nice -n 19 $(BIN)/pytest -n 2 $(AGAIN) -m "not sweep" $(OTHER_TESTS)

coverage: $(STAMP) ## the branches of the pure rooms that their tests walk; fails where it is less than is held (pyproject.toml)
	$(BIN)/pytest -n 2 -m "not sweep" --cov --cov-report=term:skip-covered $(PURE_TESTS)

test-long: $(STAMP) ## remedies carried out on the real cluster, minutes each; on a quiet machine
	$(BIN)/pytest -rs -m long tests/cluster tests/integration
