# All commands; `make` alone lists them.

HOST ?= 127.0.0.1
PORT ?= 8000
EXTRAS ?= $(if $(DATABASE_URL),postgres) $(if $(REDIS_URL),redis) $(if $(LOOPSCOPE_OIDC_ISSUER),sso)
PYTHON ?= python3.11 python3.12 python3.13 python3.14 python3

VENV := .venv
PY := $(VENV)/bin/python
RUNTIME := $(VENV)/.runtime$(subst $() ,,$(EXTRAS))
DEV := $(VENV)/.dev

# Installs the dependencies of pyproject.toml at the versions of constraints.txt.
READ := import sys, tomllib; t = tomllib.load(open("pyproject.toml", "rb")); p = t["project"]; \
	named = p["optional-dependencies"] | t["dependency-groups"]; \
	print(*p["dependencies"], *(r for name in sys.argv[1:] for r in named[name]), sep="\n")
INSTALL = $(PY) -c '$(READ)' $(1) > $@.names && \
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -r $@.names && touch $@

# Files of the formatters of templates, style sheets and scripts; vendored files stay unchanged.
TEMPLATES := git ls-files 'templates/*.html'
ASSETS := git ls-files '*.css' '*.js' ':!:*vendor/*'

# The tests wait for servers and browsers a third of their time: three workers keep two cores busy.
# A worker that dies is not replaced: the scheduler would fail with it, and the run would end without a summary.
# They take the files in the order of tests/conftest.py, the longest first.
SPREAD := -n 3 --dist loadfile --no-loadscope-reorder --max-worker-restart=0

.DEFAULT_GOAL := help
.PHONY: help run demo test test-sqlite test-browser test-alone test-postgres test-deep test-senders fuzz test-quick times check audit bench dist fmt chromium strace node screenshots tools

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(RUNTIME) ## Install what is missing, then serve on http://HOST:PORT (default 127.0.0.1:8000)
	@exec $(PY) manage.py up --host $(HOST) --port $(PORT)

demo: $(RUNTIME) ## Play recorded runs into the running server, as if agents were at work
	@exec $(PY) manage.py demo

tools: $(DEV) chromium strace # What the tests need

test: test-sqlite test-browser test-alone ## Run every test; on DATABASE_URL when it is set, else on SQLite

test-sqlite: $(DEV) strace # All but the browser tests
	$(PY) -m pytest -q $(SPREAD) --ignore tests/browser $(ARGS)

test-browser: $(DEV) chromium
	$(PY) -m pytest -q $(SPREAD) -m "not alone" --ignore tests/browser/senders $(ARGS) tests/browser

test-alone: $(DEV) chromium # Latency in a browser, while nothing else runs
	$(PY) -m pytest -q -m alone $(ARGS) tests/browser

# SQL is what differs between the two databases: only tests that use one run again. Pages and the matrix of
# access read through the modules that the others test.
test-postgres: $(DEV) ## Run the tests that use a database, on the PostgreSQL of DATABASE_URL and the Redis of REDIS_URL
	$(PY) -m pytest -q $(SPREAD) -m "postgres or (database and not slow)" $(ARGS) \
		--ignore tests/browser --ignore tests/dashboard/pages --ignore tests/dashboard/security tests

test-senders: $(DEV) chromium node ## Run real agents and frameworks against the product; installs 2 GB by npm and pip
	$(PY) -m pytest -q -n 2 --dist loadfile --max-worker-restart=0 $(ARGS) tests/browser/senders

test-deep: $(DEV) strace ## Run the tests of faults with the numbers of a release; half an hour
	FAULTS=long $(PY) -m pytest -q $(SPREAD) tests/faults tests/loopscope_client/push/test_kills.py

fuzz: $(DEV) ## Read bodies, lines, transcripts and stores that are damaged at random, for ten minutes
	DJANGO_SETTINGS_MODULE=dashboard.settings $(PY) -m tests.faults.fuzz.damaged_input $(ARGS)

test-quick: $(DEV) ## Run the files of tests that take the least, as many as 45 s allow
	$(PY) -m pytest -q $(SPREAD) -n 2 --quick --ignore tests/browser $(ARGS)

times: $(DEV) ## Note what each file took in the last .ci/run, in tests/times.json
	$(PY) -m tests.times $(or $(CI_OUT),var/ci)

check: $(DEV) ## Lint, format, types, boundaries, templates, style sheets, scripts, migrations
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	@$(TEMPLATES) | xargs $(VENV)/bin/djade --check --target-version 5.2
	@$(TEMPLATES) | xargs $(VENV)/bin/djangofmt --check
	@$(ASSETS) | xargs $(VENV)/bin/biome format
	$(PY) manage.py makemigrations --check --dry-run

audit: $(DEV) ## Compare constraints.txt with known vulnerabilities: advisories of PyPI as OSV JSON in ADVISORIES=FOLDER
	@$(PY) -m tools.audit $(ADVISORIES)

bench: $(DEV) ## Run the benchmarks; each figure has the machine and the date
	@for part in pipeline masking throughput spans live lifecycle pages evaluation ledger search search.under_load browser.notes client; do $(PY) -m bench.$$part || exit 1; done

dist: $(DEV) ## Build wheels and sdists of loopscope and loopscope-client into dist/
	@rm -rf dist
	$(PY) -m build --no-isolation --outdir dist .
	$(PY) -m build --no-isolation --outdir dist loopscope_client

screenshots: $(DEV) chromium ## Take the pictures in docs/screenshots again; four minutes
	$(PY) docs/screenshots/make.py

fmt: $(DEV) ## Format code, templates, style sheets and scripts
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(TEMPLATES) | xargs $(VENV)/bin/djade --target-version 5.2
	$(TEMPLATES) | xargs $(VENV)/bin/djangofmt
	$(ASSETS) | xargs $(VENV)/bin/biome format --write

# Installs a program of the tests by apt, if it is missing: $(call DEBIAN,commands,packages,what a person installs).
define DEBIAN
@for name in $(1); do command -v $$name >/dev/null && exit 0; done; \
if ! command -v apt-get >/dev/null; then \
	echo "The tests need $(3): install it so that '$(firstword $(1))' is on the PATH." >&2; exit 1; \
fi; \
as_root=; [ "$$(id -u)" = 0 ] || as_root=sudo; \
export DEBIAN_FRONTEND=noninteractive; \
$$as_root apt-get install -y -qq $(2) >/dev/null 2>&1 || \
{ $$as_root apt-get update -qq && $$as_root apt-get install -y -qq $(2) >/dev/null; } || \
{ echo "$(3) could not be installed; the tests need it." >&2; exit 1; }
endef

chromium: # The browser of the tests
	$(call DEBIAN,chromium chromium-browser google-chrome,chromium,Chromium)

strace: # A test uses it to check that an acknowledgement is sent after its events are synced
	$(call DEBIAN,strace,strace,strace)

node: # Tests run the agents of npm as senders; the product does not need it
	$(call DEBIAN,npm,--no-install-recommends npm,Node.js with npm)

$(PY):
	@for name in $(PYTHON); do \
		if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$name; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "Loopscope needs Python 3.11 or newer; name it: make run PYTHON=/path/to/python3.11" >&2; exit 1; \
	fi; \
	$$found -m venv $(VENV) || { \
		rm -rf $(VENV); echo "Python's venv module is missing (Debian: apt-get install python3-venv)." >&2; exit 1; \
	}

$(RUNTIME): pyproject.toml constraints.txt | $(PY)
	@echo "Installing Loopscope's dependencies into $(VENV) ..."
	@$(call INSTALL,$(EXTRAS))

$(DEV): pyproject.toml constraints.txt | $(PY)
	@echo "Installing the test dependencies into $(VENV) ..."
	@$(call INSTALL,dev postgres redis sso)
