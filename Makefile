# Each target sets up what it needs in .venv from a bare Python 3.11+, and can be run again and again.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
JOBS   ?= auto
# Images of containers often set it; the tests start some hundreds of interpreters, and each would compile it all anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help test demo check unit coverage slow crash bench mutants oracles oracles-aimock live setup clean

help:            ## show the targets
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

setup: $(READY)  ## make .venv with everything pinned and hashed

$(READY): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Callslip needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || \
	  { echo "No virtual environment could be made. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@echo "installing the pinned packages into $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

demo: $(READY)   ## a payment that waits for a person, a kill -9, and one charge (a minute at most)
	@$(BIN)/python -m demo $(ARGS)

test: check unit ## every check and test that must pass

check: $(READY)  ## format, lint, types, layers
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

unit: $(READY)   ## the tests, with coverage
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow" --cov --cov-report=term:skip-covered --cov-fail-under=90 $(ARGS)

slow: $(READY)   ## what takes longer than `make test` may
	$(BIN)/python -m pytest -m slow $(ARGS)

mutants: $(READY) ## break each required behaviour on purpose and see its test fail
	$(BIN)/python tests/requirements/mutants.py $(ARGS)

crash: $(READY)  ## the long kill -9 run: every boundary ten times, and 500 random instants
	$(BIN)/python bench/kill.py $(ARGS)

bench: $(READY)  ## the figures of README, except the peers (bench/peers.py)
	$(BIN)/python bench/arguments.py
	$(BIN)/python bench/dispatch.py
	$(BIN)/python bench/leases.py
	$(BIN)/python bench/parallel.py
	$(BIN)/python bench/sessions.py
	$(BIN)/python bench/start.py
	$(BIN)/python bench/stats.py
	$(BIN)/python bench/waits.py

oracles: .venv-oracles/.ready ## the vendors' own SDKs against the contract server and our adapters' requests
	.venv-oracles/bin/python -m pytest tests/oracles $(ARGS)

.venv-oracles/.ready: tests/oracles/requirements.txt
	@$(PYTHON) -m venv --clear .venv-oracles
	@echo "installing the vendors' SDKs into .venv-oracles (once)"
	@.venv-oracles/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@.venv-oracles/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

oracles-aimock: $(READY) .aimock/.ready ## our adapters against npm's @copilotkit/aimock (needs Node.js)
	$(BIN)/python -m pytest tests/oracles/test_aimock.py $(ARGS)

.aimock/.ready: tests/oracles/aimock.version
	@command -v npm >/dev/null || { echo "aimock comes from npm, and there is no program npm: install Node.js 20 or newer"; exit 1; }
	@mkdir -p .aimock
	@npm install --prefix .aimock --no-audit --no-fund --ignore-scripts --silent "@copilotkit/aimock@$$(cat $<)"
	@touch $@

live: $(READY)   ## one call round trip with every provider whose key is set (costs a little)
	CALLSLIP_LIVE=1 $(BIN)/python -m pytest tests/live --confcutdir=tests/live -p no:cacheprovider $(ARGS)

clean:           ## remove what the targets made
	rm -rf $(VENV) .venv-oracles .aimock .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis htmlcov
	find . -name __pycache__ -prune -exec rm -rf {} +
