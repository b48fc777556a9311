# Everything a fresh machine needs is Python 3.11 or newer, make, and a way to a package index.
# The virtual environment is made once and remade only when the pins change.

VENV   := .venv
BIN    := $(VENV)/bin
KILLS  ?= 20
RUNS   ?= 200000
JOBS   ?= 2
ARGS   ?=
NEWER  ?=
PIN    := $(BIN)/uv --no-config pip compile --quiet --universal --python-version 3.11 \
          --generate-hashes --no-emit-index-url --no-emit-find-links --no-header $(if $(UPGRADE),--upgrade)
UV     := $(BIN)/uv pip install --quiet --python $(BIN)/python
SAY    := printf 'headwater: %s\n'
APT    := DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300
# Tests start hundreds of processes, and a bench shall not measure how long Python compiles: what it
# compiled once is kept, also where it is told not to.
PYTHON_KEEPS := PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(CURDIR)/$(VENV)/compiled $(BIN)/python
TESTS  := $(PYTHON_KEEPS) -m pytest

NATIVE := hatch_build.py $(wildcard src/headwater/parse/native/*.px*)

.DEFAULT_GOAL := help
.PHONY: protos help run test readers-for-tests browser-for-tests check bench bench-parse bench-events bench-personal bench-titles fuzz test-crash test-seeded test-media clients-for-tests format clean pins surface format-check lint types imports rules

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Ctrl-C stops Headwater cleanly; the trap keeps make from calling that an error.
run: $(VENV)/.runtime ## set up if needed, then run Headwater (ARGS="--help" for its options)
	@trap : INT; $(BIN)/headwater run $(ARGS) || { code=$$?; [ $$code -eq 130 ] || exit $$code; }

# Files stay whole and in order, so that what a module shares is made once and long files come early.
test: $(VENV)/.dev $(if $(filter true,$(CI)),readers-for-tests browser-for-tests) ## run every test, on SQLite and PostgreSQL (ARGS="tests/feeds/merge -k guid" for some)
	@$(TESTS) -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

# Real feed readers, and curl for the one that asks with it. Where nothing may be missing they must be.
readers-for-tests: ## install newsboat and sfeed, which read our feeds in the tests (Debian, as root)
	@missing=; for name in newsboat sfeed_update curl; do \
	  command -v $$name >/dev/null 2>&1 || missing="$$missing $${name%_update}"; \
	done; \
	[ -n "$$missing" ] || exit 0; \
	if ! command -v apt-get >/dev/null 2>&1 || [ "$$(id -u)" -ne 0 ]; then \
	  echo "The tests read our feeds with$$missing, which this machine does not have." >&2; \
	  echo "They are Debian packages: as root, apt-get install$$missing" >&2; \
	  exit 1; \
	fi; \
	$(SAY) "the feed readers of the tests:$$missing"; \
	said=$$({ $(APT) update && $(APT) install --no-install-recommends $$missing; } 2>&1) || { \
	  printf '%s\n' "$$said" >&2; \
	  echo "apt-get could not install$$missing, with which the tests read our feeds." >&2; \
	  exit 1; \
	}

# A real browser for the console; playwright, which drives it, is a wheel.
browser-for-tests: ## install chromium, in which the tests open the console (Debian, as root)
	@command -v chromium >/dev/null 2>&1 && exit 0; \
	if ! command -v apt-get >/dev/null 2>&1 || [ "$$(id -u)" -ne 0 ]; then \
	  echo "The tests open the console in chromium, which this machine does not have." >&2; \
	  echo "It is a Debian package: as root, apt-get install chromium" >&2; \
	  exit 1; \
	fi; \
	$(SAY) "the browser of the tests: chromium"; \
	said=$$({ $(APT) update && $(APT) install --no-install-recommends chromium; } 2>&1) || { \
	  printf '%s\n' "$$said" >&2; \
	  echo "apt-get could not install chromium, in which the tests open the console." >&2; \
	  exit 1; \
	}

check: format-check lint types imports rules ## formatting, lint, types, import contracts, rules of the source, docs

# Only the surface goes to stdout, also where the virtual environment is made first.
surface: ## print what people and other programs see (make surface > before.txt; change; again; diff)
	@$(MAKE) --no-print-directory $(VENV)/.dev >&2
	@$(PYTHON_KEEPS) -m tests.project.surface

bench: $(VENV)/.bench ## measure polling beside a bare download loop and a naive engine
	@$(PYTHON_KEEPS) -m bench.poll $(ARGS)

bench-parse: $(VENV)/.bench ## measure parsing beside feedparser, fastfeedparser and bare lxml
	@$(PYTHON_KEEPS) -m bench.parse $(ARGS)

bench-events: $(VENV)/.dev ## measure the event stream: one busy reader, a thousand idle ones
	@$(PYTHON_KEEPS) -m bench.events $(ARGS)

bench-personal: $(VENV)/.dev ## measure personal feeds beside a bare route, on both stores
	@$(PYTHON_KEEPS) -m bench.personal $(ARGS)

bench-titles: $(VENV)/.dev ## measure how many release titles are read in a second
	@$(PYTHON_KEEPS) -m bench.titles $(ARGS)

fuzz: $(VENV)/.dev ## feed the parser RUNS broken documents (200,000) and check what comes back
	@$(BIN)/python -m tests.fuzz.run --runs $(RUNS) $(ARGS)

test-crash: $(VENV)/.dev ## kill -9 the running service KILLS times (20) and audit what is left
	@HEADWATER_TEST_KILLS=$(KILLS) $(TESTS) tests/crash --timeout=3600 $(ARGS)

# The audit finds those that need a kill, tests of the suite the others.
test-seeded: $(VENV)/.dev ## plant 25 bugs, one at a time, each of which must be found and named (ARGS="-k token" for some)
	@HEADWATER_TEST_KILLS=2 $(TESTS) tests/seeded tests/crash/test_seeded_bugs.py \
	  tests/crash/test_downloads.py::test_the_audit_of_downloads_names --timeout=3600 $(ARGS)

# Each client is a process of its own on loopback; the seeder is a wheel. Without `ARGS` everything.
test-media: $(VENV)/.dev clients-for-tests $(if $(NEWER),$(VENV)/$(NEWER)/bin/qbittorrent-nox) ## live through a season with real download clients (ARGS="-k aria2" for one, NEWER=trixie for qBittorrent 5)
	@$(if $(NEWER),PATH=$(CURDIR)/$(VENV)/$(NEWER)/bin:$$PATH) HEADWATER_TEST_MEDIA=1 \
	  $(TESTS) tests/media --timeout=1800 $(ARGS)

# The qBittorrent of another Debian, unpacked and not installed.
$(VENV)/$(NEWER)/bin/qbittorrent-nox: tests/media/newer_qbittorrent.sh
	@$(SAY) "qBittorrent of Debian $(NEWER)"
	@sh tests/media/newer_qbittorrent.sh $(NEWER) $(CURDIR)/$(VENV)/$(NEWER)

clients-for-tests: ## install qbittorrent-nox, transmission-daemon and aria2 for test-media (Debian, as root)
	@missing=; for pair in qbittorrent-nox:qbittorrent-nox transmission-daemon:transmission-daemon aria2c:aria2; do \
	  command -v $${pair%:*} >/dev/null 2>&1 || missing="$$missing $${pair#*:}"; \
	done; \
	[ -n "$$missing" ] || exit 0; \
	if ! command -v apt-get >/dev/null 2>&1 || [ "$$(id -u)" -ne 0 ]; then \
	  $(SAY) "these clients are not here, their tests are skipped:$$missing"; \
	  exit 0; \
	fi; \
	$(SAY) "the download clients of the tests:$$missing"; \
	said=$$({ $(APT) update && $(APT) install --no-install-recommends $$missing; } 2>&1) || { \
	  printf '%s\n' "$$said" >&2; \
	  echo "apt-get could not install$$missing, with which the tests download." >&2; \
	  exit 1; \
	}

format: $(VENV)/.dev ## put every file into the project's format
	@$(BIN)/ruff check --quiet --select I --fix .
	@$(BIN)/ruff format .

pins: $(VENV)/.made ## resolve the pins again (UPGRADE=1 for the newest versions)
	@$(PIN) --group setup -o requirements-setup.txt
	@$(PIN) pyproject.toml -o requirements.txt
	@$(PIN) pyproject.toml --all-extras --group dev -c requirements.txt -o requirements-dev.txt
	@$(PIN) bench/requirements.in -c requirements-dev.txt -o requirements-bench.txt

protos: $(VENV)/.dev ## make the code of headwater.proto again
	@cd src && ../$(BIN)/python -m grpc_tools.protoc -I . --python_out=. --pyi_out=. \
	  --grpc_python_out=. headwater/client/grpc/headwater.proto

clean: ## remove the virtual environment and every cache (never your data)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# The parts of `make check`; `make -k check` runs them all even when one fails.

format-check: $(VENV)/.dev
	@$(SAY) 'format' && $(BIN)/ruff format --check .

lint: $(VENV)/.dev
	@$(SAY) 'lint' && $(BIN)/ruff check .

types: $(VENV)/.dev
	@$(SAY) 'types' && $(BIN)/mypy

imports: $(VENV)/.dev
	@$(SAY) 'import contracts' && PYTHONPATH=src $(BIN)/lint-imports --no-cache

rules: $(VENV)/.dev
	@$(SAY) 'rules of the source, docs' && $(TESTS) tests/project

# The virtual environment, in three steps with a stamp each.

$(VENV)/.made: requirements-setup.txt
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  for found in "$$PYTHON" python3 python3.13 python3.12 python3.11 python; do \
	    [ -n "$$found" ] && "$$found" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	      >/dev/null 2>&1 && break; \
	    found=; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo 'Headwater needs Python 3.11 or newer, and none was found on the PATH.' >&2; \
	    echo 'Install one, or name it: make run PYTHON=/path/to/python3' >&2; \
	    exit 1; \
	  fi; \
	  $(SAY) "1/3 a virtual environment in $(VENV), with $$("$$found" --version)"; \
	  if ! "$$found" -m venv --clear $(VENV) >/dev/null 2>&1; then \
	    echo "$$found cannot make virtual environments: its venv module is missing." >&2; \
	    echo 'On Debian and Ubuntu: apt install python3-venv' >&2; \
	    rm -rf $(VENV); \
	    exit 1; \
	  fi; \
	fi
	@$(BIN)/python -m pip install -qq --disable-pip-version-check \
	  --require-hashes -r requirements-setup.txt
	@touch $@

$(VENV)/.runtime: $(VENV)/.made requirements.txt pyproject.toml $(NATIVE)
	@$(call INSTALL,requirements.txt,what Headwater runs on)
	@touch $@

$(VENV)/.dev: $(VENV)/.made requirements.txt requirements-dev.txt pyproject.toml $(NATIVE)
	@$(call INSTALL,requirements-dev.txt,what Headwater runs on and is tested with)
	@touch $(VENV)/.runtime $@

$(VENV)/.bench: $(VENV)/.dev requirements-bench.txt
	@$(SAY) 'the opponents of the bench' && $(UV) --require-hashes -r requirements-bench.txt
	@touch $@

# $(1): the hashed pins, $(2): what they are, in words. uv is quick; pip, slower, also knows the
# package indexes that a machine's pip configuration names, so it is asked when uv cannot.
define INSTALL
$(SAY) "2/3 $(2): $$(grep -c '^[a-z]' $(1)) packages (a minute on a slow line)"; \
$(UV) --require-hashes -r $(1) \
|| $(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r $(1) \
|| exit 1; \
$(SAY) '3/3 Headwater itself'; \
$(UV) --no-deps --no-build-isolation --editable . || exit 1; \
$(SAY) "its parser: $$($(BIN)/python -c 'from headwater.parse import accelerator as speed; print(speed.describe())')"
endef
