# Each target makes its virtual environment by itself: only Python 3.11 or newer, git and make must be there.
PYTHON ?= python3
PYTEST_ARGS ?=
BENCH_ARGS ?=
BIN := .venv/bin
STAMP := .venv/.installed-for
READY := .venv/.compiled
PACKAGES := $(patsubst %/__init__.py,%,$(wildcard */__init__.py))

.PHONY: help venv demo test soak lint format bench clean moved

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1 /p' Makefile | while read -r name text; do printf '%-8s %s\n' "$$name" "$$text"; done

demo: $(READY) ## watch the agent mend a test, and the sandbox stop it
	@$(BIN)/pycodex demo

test: $(READY) ## run every test, long ones as samples
	$(BIN)/pytest -n 2 $(PYTEST_ARGS)

soak: $(READY) ## run every test with its full counts
	$(BIN)/pytest -n 2 --soak $(PYTEST_ARGS)

lint: $(STAMP) ## check style and types, tests and bench included
	@status=0; for check in "ruff check ." "ruff format --check ." mypy; do \
		echo "$$check"; $(BIN)/$$check || status=1; done; exit $$status

format: $(STAMP) ## rewrite the code in the project's style
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: $(READY) ## measure the parts
	$(BIN)/python bench/run.py --json build/bench.json $(BENCH_ARGS)

clean: ## remove everything that was made here
	rm -rf .venv build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

venv: $(READY) ## make the virtual environment only

# A virtual environment holds absolute paths, so a moved or copied checkout needs a new one.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
$(STAMP): moved
endif

# The package is linked, not installed: an editable install puts an import hook before every start, and a plain one
# would make the tests run yesterday's code. setuptools is there to build wheels; its start-up file would slow down
# every interpreter start.
$(STAMP): pyproject.toml supervisor/cli/pycodex
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "$(PYTHON) is not Python 3.11 or newer; try: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
	@$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		print(*p["dependencies"], *p["optional-dependencies"]["dev"], sep="\n")' > .venv/requirements.txt
	$(BIN)/python -m pip install -qq --disable-pip-version-check -r .venv/requirements.txt
	@packages="$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
		&& rm -f "$$packages/distutils-precedence.pth" \
		&& ln -sfn "$(CURDIR)" "$$packages/pycodex"
	@{ echo "#!$(CURDIR)/$(BIN)/python"; sed 1d supervisor/cli/pycodex; } > $(BIN)/pycodex
	@chmod +x $(BIN)/pycodex
	@echo "$(CURDIR)" > $(STAMP)

# Compiled here, because the environment may forbid the interpreter to keep what it compiles: each start would then
# compile everything again.
$(READY): $(STAMP) $(shell find $(PACKAGES) -name '*.py')
	@$(BIN)/python -m compileall -q $(PACKAGES)
	@touch $(READY)
