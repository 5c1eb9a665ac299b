# The environment of the tools and tests, and that of the compiled gateway.

# All that is needed is in the lock: nothing is resolved, and an index that lacks a file for a moment is asked again.
LOCKED := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock

$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "make: Python 3.11 or newer is needed, " + sys.executable + " is " + sys.version.split()[0] + "; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(LOCKED) || (echo "make: once more in 10 s" && sleep 10 && $(LOCKED))
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

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
