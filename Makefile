# Everything lives in .venv, which `make clean` removes. Registries and certificates are whatever pip is told.

PORT ?= 8080
DATA ?= ./data
# Not from the environment, where some shells keep the machine's name: that would open the port to the network.
HOST = 127.0.0.1
# The Python that .venv is made with; without it, the first of these that is new enough.
PYTHON ?=
# For example: make test ARGS="libs/common -k postgres", make locks ARGS=--upgrade
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/python requirements/uv.py
STANDALONE := services/standalone/requirements.lock
DISTRIBUTIONS := libs/common services/gateway services/identity services/secrets services/pki services/automation \
	services/standalone
PROJECTS := $(DISTRIBUTIONS:%=%/pyproject.toml)

.PHONY: help
help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: run
run: install ## Run everything in one process: PORT=8080 HOST=127.0.0.1 DATA=./data
	@exec $(BIN)/python -m strongroom_standalone --host "$(HOST)" --port "$(PORT)" --data "$(DATA)"

.PHONY: install
install: $(VENV)/.installed ## Install the product into .venv.

.PHONY: dev
dev: $(VENV)/.dev ## Install the product and the tools that test and check it into .venv.

.PHONY: test
test: dev ## Run all tests; ARGS goes to pytest.
	@$(BIN)/python -m pytest $(ARGS)

.PHONY: check check-format check-lint check-types check-imports
check: check-format check-lint check-types check-imports ## Check format, lint, types and who imports whom.

check-format: dev
	$(BIN)/ruff format --check .

check-lint: dev
	$(BIN)/ruff check .

check-types: dev
	$(BIN)/mypy libs/common/strongroom_common services/*/strongroom_* bench

check-imports: dev
	$(BIN)/lint-imports

.PHONY: format
format: dev ## Format the code, and mend what lint can mend.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: routes
routes: install ## Write the route inventory, docs/routes.tsv, anew.
	@$(BIN)/python -m strongroom_standalone routes > docs/routes.tsv

.PHONY: bench
bench: dev ## Measure the hot paths as ratios to a floor of the same run.
	@exec $(BIN)/python -m bench $(ARGS)

.PHONY: bench-start
bench-start: dev ## Measure start time and idle memory.
	@exec $(BIN)/python -m bench.start $(ARGS)

.PHONY: locks
locks: $(BIN)/uv ## Pin what is new in pyproject.toml and requirements/*.in; ARGS=--upgrade renews all.
	@echo "pinning $(STANDALONE)"
	@$(LOCK) --group services/standalone/pyproject.toml:tree services/standalone/pyproject.toml -o $(STANDALONE)
	@# One version of each package in the whole tree: the others follow `standalone`, which holds them all.
	@for each in $(filter-out services/standalone,$(DISTRIBUTIONS)); do \
		echo "pinning $$each/requirements.lock"; \
		$(LOCK) -c $(STANDALONE) $$each/pyproject.toml -o $$each/requirements.lock || exit 1; \
	done
	@echo "pinning requirements/*.txt"
	@$(LOCK) -c $(STANDALONE) --group services/standalone/pyproject.toml:tree services/standalone/pyproject.toml \
		requirements/dev.in -o requirements/dev.txt
	@$(LOCK) requirements/uv.in -o requirements/uv.txt

# Our own packages are left out, and so are addresses: the same file serves Python 3.11 to 3.14 and every registry.
LOCK = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-annotate --no-header $(ARGS) \
	$(foreach each,$(DISTRIBUTIONS),--no-emit-package strongroom-$(notdir $(each)))

.PHONY: clean
clean: ## Remove .venv and caches, never data.
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage dist build
	find libs services tests bench -type d -name __pycache__ -prune -exec rm -rf {} +

# The stamps: what they name is done again only when a lock or a pyproject.toml has changed. Files are readable by all
# whatever the umask, because root's PostgreSQL runs under another account.

$(VENV)/.installed: $(STANDALONE) $(PROJECTS) | $(BIN)/uv
	@echo "installing what Strongroom stands on"
	@umask 022 && $(UV) pip install --python $(BIN)/python --no-deps --require-hashes -r $(STANDALONE)
	@echo "installing Strongroom, in place"
	@umask 022 && $(UV) pip install --python $(BIN)/python --no-deps --no-build-isolation \
		$(DISTRIBUTIONS:%=--editable ./%)
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.installed
	@echo "installing the tools that test and check it"
	@umask 022 && $(UV) pip install --python $(BIN)/python --no-deps --require-hashes -r requirements/dev.txt
	@touch $@

$(BIN)/uv: requirements/uv.txt | $(BIN)/python
	@echo "installing the installer"
	@umask 022 && $(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --require-hashes -r $<
	@touch $@

$(BIN)/python:
	@for each in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
		if "$$each" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$each; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "Strongroom needs Python 3.11 or newer: install it, or name it: make PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	if ! "$$found" -c 'import ensurepip, venv' 2>/dev/null; then \
		echo "$$found lacks the venv module: install it (on Debian: apt install python3-venv)" >&2; exit 1; \
	fi; \
	echo "creating $(VENV) with $$("$$found" --version)"; \
	umask 022 && "$$found" -m venv --clear $(VENV)
