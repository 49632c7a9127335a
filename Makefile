# EP Workbench. Needs Python 3.11 or newer, make and a package index; everything else is installed here.
#
#   make lab      JupyterLab on the first notebook          make test     every test, notebooks included
#   make demo     the same job headless -> out/report.html  make help     all targets
#
# PYTHON=...        the interpreter that makes the environment
# VENV=...          where the environment lies (default .venv)
# LAB_FLAGS=...     more options for JupyterLab, e.g. LAB_FLAGS="--no-browser --port 9000"
# PYTEST_FLAGS=...  more options for pytest, e.g. PYTEST_FLAGS="-k parity -x"

SHELL := /bin/sh
.DEFAULT_GOAL := help

VENV ?= .venv
LAB_FLAGS ?=
PYTEST_FLAGS ?=
NOTEBOOK := notebooks/01_one_model_side_by_side.ipynb
REPORT := out/report.html

# The first interpreter on the path that is new enough. Asked only when an environment has to be made.
is_new_enough = import sys; sys.exit(sys.version_info < (3, 11))
candidates := python3 python3.14 python3.13 python3.12 python3.11 python
PYTHON ?=
find_python = for p in $(if $(PYTHON),"$(PYTHON)",$(candidates)); do \
    if "$$p" -c "$(is_new_enough)" >/dev/null 2>&1; then echo "$$p"; exit 0; fi; done

# Console scripts are run as modules: their first line breaks when the path is long or the folder moves.
py := $(VENV)/bin/python
pip := $(py) -m pip --disable-pip-version-check --no-input
# No news feed: nothing is fetched without saying so. JupyterLab refuses to run as root unless told, and a
# container's only user often is root.
lab_flags = --LabApp.news_url=None $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_FLAGS)

.PHONY: help install install-test install-dev lab demo test goldens docs lint typecheck bench clean

help: ## this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

# --- environments: one folder, one stamp for each set; a changed pyproject.toml installs again ---------
$(VENV)/.made:
	@found="$$($(find_python))"; \
	if [ -z "$$found" ]; then \
	  echo "EP Workbench needs Python 3.11 or newer; none of these is: $(if $(PYTHON),$(PYTHON),$(candidates))." >&2; \
	  echo "Install one and name it: make $(or $(MAKECMDGOALS),lab) PYTHON=/path/to/python3.11" >&2; exit 1; fi; \
	echo "Making $(VENV) with $$("$$found" --version)"; \
	"$$found" -m venv "$(VENV)" || { \
	  echo "$$found could not make an environment; on Debian and Ubuntu install python3-venv." >&2; exit 1; }
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml
	$(pip) install --editable .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.made pyproject.toml
	$(pip) install --editable '.[test]'
	@touch $(VENV)/.installed $@

$(VENV)/.installed-dev: $(VENV)/.made pyproject.toml
	$(pip) install --editable '.[dev]'
	@touch $(VENV)/.installed $(VENV)/.installed-test $@

install: $(VENV)/.installed ## the package and what it needs, in .venv
install-test: $(VENV)/.installed-test ## the same with what the tests need
install-dev: $(VENV)/.installed-dev ## the same with linters, type checker and docs

# --- what a person does --------------------------------------------------------------------------------
lab: $(VENV)/.installed ## JupyterLab on the first notebook
	$(py) -m jupyterlab $(lab_flags) $(NOTEBOOK)

demo: $(VENV)/.installed ## the first notebook's job without a browser: out/report.html
	@mkdir -p $(dir $(REPORT))
	$(py) -m workbench compare smollm2-135m --ep cpu --ep dml --ep webgpu --ep onnx-standard \
	  --prompt "The capital of France is" --html $(REPORT)
	@echo "Open $(REPORT)"

# --- checks --------------------------------------------------------------------------------------------
# One pytest run: the tests, and every notebook executed and compared output by output (nbval, strict).
test: $(VENV)/.installed-test ## every test; notebooks are run and compared
	$(py) -m pytest --nbval --nbval-current-env --nbval-sanitize-with notebooks/sanitize.cfg \
	  tests notebooks $(PYTEST_FLAGS)

lint: $(VENV)/.installed-dev ## ruff
	$(py) -m ruff check .

typecheck: $(VENV)/.installed-dev ## mypy on the package
	$(py) -m mypy

docs: $(VENV)/.installed-dev ## the documentation, into site/
	$(py) -m mkdocs build --strict --quiet

bench: $(VENV)/.installed-test ## speed and memory, as ratios within one run
	$(py) -m benchmarks.run

goldens: $(VENV)/.installed-test ## reference logits and operator tables, made again (installs torch; REASON="...")
	$(pip) install --editable '.[torch,test]'
	$(py) -m tests.make_goldens
	$(py) -m tests.golden_ops $(if $(REASON),--write --reason "$(REASON)",|| echo 'To put these counts on record: make goldens REASON="why they change"')

clean: ## the environment and everything built
	rm -rf "$(VENV)" build dist out site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find workbench tests benchmarks notebooks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
