# From nothing but Python 3.11, make and the package index: each target first makes the environment it needs.
#   make lab      open the course in the browser           make notebooks    run the lessons, save what they show
#   make test     run every test                           make bench        measure speed, as ratios
#   make present LESSON=04    one lesson for a projector   make pages        glossary and lists, made from data/
# PYTHON=/path/to/python3.12 chooses another Python; JOBS=4 runs more tests at once; ARGS="-k retry" goes to the tool.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?=
JOBS ?= 2
ARGS ?=
LESSON ?= 00

.PHONY: help lab present doctor test lint types bench record conformance theory soak classroom brokers notebooks pages html screenshots picture lock wheel clean
.NOTPARALLEL:

help:
	@sed -n 's/^#   //p' Makefile

lab: $(VENV)/.lab
	@$(BIN)/python -m simlib.cli lab $(ARGS)

present: $(VENV)/.present
	@$(BIN)/python -m simlib.cli present $(LESSON) $(ARGS)

doctor: $(VENV)/.lab
	@$(BIN)/python -m simlib.cli doctor

test: $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --nbval notebooks tests -m "not theory and not soak and not classroom and not brokers" $(ARGS)

theory soak classroom brokers: $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile tests -m $@ $(ARGS)

lint: $(VENV)/.test
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

types: $(VENV)/.test
	$(BIN)/python -m pyright

bench: $(VENV)/.bench
	$(BIN)/python -m tests.bench $(ARGS)

record: $(VENV)/.bench
	$(BIN)/python -m tests.bench.record

conformance: $(VENV)/.test
	$(BIN)/python -m tests.bench.conformance $(ARGS)

notebooks: $(VENV)/.test
	$(BIN)/python -m tests.notebooks.refresh $(ARGS)

pages: $(VENV)/.test
	$(BIN)/python -m tests.notebooks.pages

html: $(VENV)/.lab
	@JUPYTER_PATH=data/present $(BIN)/python -m jupyter nbconvert --log-level WARN --to html --template simlib --output-dir html notebooks/*.ipynb
	@ls html/*.html

screenshots: $(VENV)/.test
	$(BIN)/python -m tests.browser.screenshots $(ARGS)

picture: $(VENV)/.test
	$(BIN)/python -m tests.browser.readme_picture data/playground.png

lock:
	@uv --version >/dev/null 2>&1 || { echo "make lock needs uv: pip install uv" >&2; exit 2; }
	uv pip compile --quiet --upgrade --universal --no-annotate --no-header --no-emit-index-url \
	  --python-version 3.11 --all-extras pyproject.toml -o constraints.txt

wheel: $(VENV)/.lab
	@if uv --version >/dev/null 2>&1; then uv build --quiet --wheel; \
	else $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .; fi
	@ls dist/*.whl

clean:
	rm -rf $(VENV) build dist html screenshots .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -o -name .ipynb_checkpoints | xargs rm -rf

# The environment. Its stamps say what is in it, so a second call costs nothing.
INSTALL = if uv --version >/dev/null 2>&1; \
	then uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '$(1)'; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '$(1)'; fi

$(VENV)/.made:
	@found=; for python in $(PYTHON) python3.13 python3.12 python3.11 python3 python; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "simlib needs Python 3.11 or newer and found none; install one, or name it: make PYTHON=/path/to/python3.12" >&2; \
	  exit 2; \
	fi; \
	echo "Making $(VENV) with $$($$found --version)."; \
	if uv --version >/dev/null 2>&1; then uv venv --quiet --allow-existing --python "$$($$found -c 'import sys; print(sys.executable)')" $(VENV); \
	elif ! $$found -m venv $(VENV); then \
	  echo "$$found cannot make environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 2; \
	fi; \
	touch $@

$(VENV)/.lab: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing what the lessons need (once: some seconds with uv, about a minute with pip)."
	@$(call INSTALL,.)
	@touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing what the tests need (once: some seconds with uv, about a minute with pip)."
	@$(call INSTALL,.[test])
	@touch $@ $(VENV)/.lab

$(VENV)/.present: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing what presenting needs (once)."
	@$(call INSTALL,.[present])
	@touch $@ $(VENV)/.lab

$(VENV)/.bench: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing what the benchmarks need (once)."
	@$(call INSTALL,.[test$(comma)bench])
	@touch $@ $(VENV)/.test $(VENV)/.lab
comma := ,
