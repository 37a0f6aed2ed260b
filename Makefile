# memoryd: `make run` and `make test` need nothing but Python 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EVAL ?= ../shared/eval
APP ?= $(or $(XDG_DATA_HOME),$(HOME)/.local/share)/memoryd/venv
COMMANDS ?= $(HOME)/.local/bin
# The Claude Code that `make acceptance` talks to: fixed, so that a release of theirs never breaks a change of ours.
# `make CLIENT=latest acceptance` tells whether it can be raised.
CLIENT ?= 2.1.325
# Other clients that `make acceptance` tries as well: CLIENTS="codex gemini qwen copilot pi opencode". Their tests are skipped where
# they are not installed.
CLIENTS ?=
CODEX ?= 0.169.0
GEMINI ?= 0.61.0
QWEN ?= 0.24.4
COPILOT ?= 1.0.102
PI ?= 0.87.1
OPENCODE ?= 1.18.33
# Some want a newer node than some systems have; npm has node itself as a package.
NODE ?= 22.23.3
NODE_PACKAGE := node-$(shell uname -s | tr A-Z a-z)-$(shell uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')@$(NODE)

.PHONY: help run install uninstall test failed client acceptance failed-acceptance style lint bench bench-recall torture train eval requirements clean

help:
	@echo "make run         set up, then watch your transcripts in the foreground"
	@echo "make install     install the program, then memoryd setup; again after git pull"
	@echo "make uninstall   take everything back; memories stay"
	@echo "make test        set up, then linters, types and all tests"
	@echo "make failed      linters, types and the tests that failed the last time, one after the other"
	@echo "make acceptance  set up, fetch Claude Code, then the tests with the real client"
	@echo "make bench       speed and memory, as ratios to a limit measured in the same run"
	@echo "make bench-recall how well questions find the sessions that answer them, on the sets in EVAL=directory"
	@echo "make eval        quality of what is extracted, dreamt and recalled, on the sets in EVAL=directory"
	@echo "make train       fit the weights of the embedded engine, of recall and of audit to what is labelled in training"
	@echo "make torture     the long campaigns behind the short ones in make test; writes docs/reliability.md"
	@echo "make requirements raise the versions that developers and CI install"
	@echo "make clean       remove what the others made"

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "memoryd needs Python 3.11 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up $(VENV), which takes a minute ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# The stamp is newer than pyproject.toml once everything in it is installed.
$(VENV)/installed: $(VENV)/made pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# Every file by its hash and nothing beside, so that a release of somebody else's never breaks a change of ours.
# Compiled afterwards by all cores, as pip uses one; a file that does not compile is one that nobody imports.
$(VENV)/installed-dev: $(VENV)/made pyproject.toml requirements-dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes \
	  --requirement requirements-dev.txt
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(VENV)/installed $@

requirements: $(VENV)/installed-dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@echo '# What developers and CI install, every file by its hash; `make requirements` writes it anew from pyproject.toml.' \
	  > requirements-dev.txt
	@$(BIN)/uv pip compile --quiet pyproject.toml --extra dev --group build --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-header --no-annotate --no-emit-index-url >> requirements-dev.txt

run: $(VENV)/installed
	@exec $(BIN)/memoryd run

# Apart from the clone, which may move or be worked on: a copy of the program and its command; `memoryd setup` does the rest.
install:
	@"$(APP)/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "memoryd needs Python 3.11 or newer; name one: make PYTHON=python3.12 install"; exit 1; }
	@"$(APP)/bin/python" -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear "$(APP)"
	@echo "Installing into $(APP) ..."
	@"$(APP)/bin/python" -m pip install --quiet --disable-pip-version-check .
	@mkdir -p "$(COMMANDS)"
	@if [ -e "$(COMMANDS)/memoryd" ] && [ "$$(readlink "$(COMMANDS)/memoryd")" != "$(APP)/bin/memoryd" ]; then \
	  echo "$(COMMANDS)/memoryd is somebody else's; fix: mv it away, then make install"; exit 1; fi
	@ln -sfn "$(APP)/bin/memoryd" "$(COMMANDS)/memoryd"
	@case ":$$PATH:" in *":$(COMMANDS):"*) ;; *) echo "Put $(COMMANDS) on your PATH to have the command memoryd." ;; esac
	@if [ -t 0 ]; then "$(APP)/bin/memoryd" setup; else "$(APP)/bin/memoryd" setup --yes; fi

# A service that could not be removed would be started for ever, without its program.
UNITS := "$(or $(XDG_CONFIG_HOME),$(HOME)/.config)/systemd/user/memoryd.service" \
  "$(HOME)/.config/systemd/user/memoryd.service" "$(HOME)/Library/LaunchAgents/local.memoryd.plist"

uninstall:
	@"$(APP)/bin/memoryd" uninstall --yes || for unit in $(UNITS); do if [ -e "$$unit" ]; then \
	  echo "The service is still there, so nothing was deleted; fix: the above, or rm $$unit; then make uninstall"; exit 1; \
	  fi; done
	@if [ "$$(readlink "$(COMMANDS)/memoryd")" = "$(APP)/bin/memoryd" ]; then rm "$(COMMANDS)/memoryd"; fi
	@rm -rf "$(APP)"
	@rmdir "$(dir $(APP))" 2>/dev/null || true

style: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint: style
	$(BIN)/mypy

# Compiled beforehand, also where PYTHONDONTWRITEBYTECODE is set: tests start hundreds of processes, and every worker of pytest
# would rewrite all assertions. mypy runs beside the tests, and its verdict stands at the end.
test: style
	@$(BIN)/mypy >$(VENV)/mypy.log 2>&1 & mypy=$$!; \
	  $(BIN)/python -m compileall -q memoryd tests; \
	  PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 0 --collect-only >$(VENV)/collect.log 2>&1 || cat $(VENV)/collect.log; \
	  $(BIN)/pytest; tests=$$?; \
	  wait $$mypy; types=$$?; \
	  echo $(BIN)/mypy; cat $(VENV)/mypy.log; \
	  exit $$((tests || types))

# What failed the last time, one after the other, after the linters: for a machine that was too busy, and for whoever mends it.
failed: lint
	$(BIN)/pytest -n 0 --last-failed --last-failed-no-failures none -v

# The program lies ready in the package for this system, so nobody's install script has to run.
.client/installed-$(CLIENT):
	@command -v npm >/dev/null || \
	  { echo "make acceptance fetches Claude Code with npm, which is missing; fix: sudo apt install npm"; exit 1; }
	@echo "Fetching Claude Code $(CLIENT) into .client, about 350 MB ..."
	@rm -rf .client && mkdir .client
	@npm install --prefix .client --ignore-scripts --no-audit --no-fund --loglevel=error \
	  @anthropic-ai/claude-code@$(CLIENT)
	@touch $@

# Name, version, and the packages of another client; after Claude Code, whose rule empties the folder.
define OTHER_CLIENT
.client/$(1)/installed-$(2): | .client/installed-$(CLIENT)
	@echo "Fetching $(1) $(2) into .client/$(1), up to 400 MB ..."
	@rm -rf .client/$(1) && mkdir -p .client/$(1)
	@npm install --prefix .client/$(1) --ignore-scripts --no-audit --no-fund --loglevel=error $(3)
	@touch $$@
OTHER_CLIENTS += $(if $(filter $(1),$(CLIENTS)),.client/$(1)/installed-$(2))
endef
$(eval $(call OTHER_CLIENT,codex,$(CODEX),@openai/codex@$(CODEX)))
$(eval $(call OTHER_CLIENT,gemini,$(GEMINI),@google/gemini-cli@$(GEMINI) $(NODE_PACKAGE)))
$(eval $(call OTHER_CLIENT,qwen,$(QWEN),@qwen-code/qwen-code@$(QWEN) $(NODE_PACKAGE)))
$(eval $(call OTHER_CLIENT,copilot,$(COPILOT),@github/copilot@$(COPILOT)))
$(eval $(call OTHER_CLIENT,pi,$(PI),@earendil-works/pi-coding-agent@$(PI) $(NODE_PACKAGE)))
$(eval $(call OTHER_CLIENT,opencode,$(OPENCODE),opencode-ai@$(OPENCODE) @opencode-ai/plugin@$(OPENCODE)))

client: .client/installed-$(CLIENT) $(OTHER_CLIENTS)

acceptance: $(VENV)/installed-dev .client/installed-$(CLIENT) $(OTHER_CLIENTS)
	$(BIN)/pytest -m real tests/acceptance tests/engines

failed-acceptance: $(VENV)/installed-dev .client/installed-$(CLIENT) $(OTHER_CLIENTS)
	$(BIN)/pytest -n 0 -m real --last-failed --last-failed-no-failures none -v tests/acceptance tests/engines

bench: $(VENV)/installed-dev
	$(BIN)/python -m bench

# Beside BM25, where its packages are installed: pip install bm25s rank-bm25
bench-recall: $(VENV)/installed-dev
	$(BIN)/python -m bench.recall_quality $(EVAL) --svg docs/benchmarks.svg

torture: $(VENV)/installed-dev
	$(BIN)/pytest --torture -m torture --write-reliability $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS))

train: $(VENV)/installed-dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[train]'
	$(BIN)/python -m training --folds
	$(BIN)/python -m training.words
	$(BIN)/python -m training.ranking
	$(BIN)/python -m training.rule_calls
	$(BIN)/python -m training.repeated

eval: $(VENV)/installed-dev
	$(BIN)/python -m evaluation $(EVAL)

clean:
	rm -rf $(VENV) .client .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
