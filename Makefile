# Two commands matter: `make demo` and `make test`. Each sets up what is missing first;
# a set-up that is complete costs less than a second.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

BIN := .venv/bin
UV := build/bin/uv
CARGO := cargo
# In a folder of its own: a library that is also a module for Python has one name there, whatever
# its features are.
TEMPLATE := sim/template/Cargo.toml
ENGINE_SOURCES := $(shell find sim/engine sim/protocols -type f \( -name '*.rs' -o -name '*.toml' -o -path '*/shim/*' \)) \
	Cargo.toml Cargo.lock

##@ Use
.PHONY: setup
setup: .venv/.engine ## Install what is missing and build the engine into .venv

.PHONY: simgrid
simgrid: build/simgrid/.complete ## Build SimGrid, which run.fidelity = "flow" and platforms of your own need

.PHONY: demo
# SUBSET=latency: only that group of figures, or rows such as 'B1_*'.
# Exit code 6 says that only such bars are missed as are known to be.
demo: setup ## Simulate the published experiments, compare, write runs/demo/report.html
	$(BIN)/pocketsim validate --out runs/demo --report runs/demo/report.html --brief $(if $(SUBSET),--subset '$(SUBSET)') || \
		{ code=$$?; [ $$code = 6 ] || exit $$code; }

##@ Develop
.PHONY: check
check: lint setup simgrid ## Lint, types, and the unit tests of Rust and Python that are not marked slow
	PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED) $(CARGO) test --workspace --locked --lib
	$(PYTEST) tests/tidy tests/unit -m 'not slow'

.PHONY: test test-rust test-python test-programs
# The cases of property tests are drawn from a fixed seed, so that the same code gives the same
# verdict. Draw others now and then: make test PROPTEST_RNG_SEED=$RANDOM HYPOTHESIS=fresh
PROPTEST_RNG_SEED ?= 1
HYPOTHESIS ?= repeatable
# In the order of their names: what takes minutes, in tests/analytic and tests/system, begins first.
PYTEST = $(BIN)/pytest -n auto --maxprocesses 8 --dist loadscope --no-loadscope-reorder --hypothesis-profile=$(HYPOTHESIS)
test: test-rust test-python ## Run every test, Rust and Python

# With -j2, Rust's run beside Python's: most of their time goes into waiting for what is on a network.
test-rust: test-programs
	PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED) $(CARGO) test --workspace --locked

test-python: test-programs
	$(PYTEST) --ignore tests/wheel --ignore tests/notebooks --ignore tests/cluster

test-programs: setup simgrid
	$(CARGO) test --workspace --locked --no-run
	CARGO_TARGET_DIR=build/template $(CARGO) build --locked --manifest-path $(TEMPLATE)

# One after the other: each is to take less than 30 s of a machine of its own, beside what
# notebook 5 measures where there is a probe.
.PHONY: notebooks
notebooks: setup ## Run every notebook in a kernel of its own
	$(BIN)/pytest tests/notebooks

.PHONY: docs
docs: setup .venv/.docs ## Build the pages of build/docs, with notebooks (not with QUICK=1) and a gallery as they run, and build/pocketsim.1
	$(BIN)/python -m tools.manual > build/pocketsim.1
	$(BIN)/sphinx-build -q -W -b html $(if $(QUICK),-D nb_execution_mode=off) docs build/docs

.PHONY: wheel test-wheel
wheel: setup simgrid ## Build dist/*.whl, which installs in seconds where nobody can compile
	$(BIN)/python tools/wheel.py

test-wheel: wheel ## Install the wheel into an environment of its own and test it there
	$(BIN)/pytest tests/wheel

.PHONY: container
container: build/.system $(if $(QUICK),wheel) ## Build the container by buildah, which compiles SimGrid, and try it; QUICK=1: of `make wheel`
	python3 tools/container.py $(if $(QUICK),--wheel dist pocketsim)

.PHONY: test-cluster
test-cluster: setup ## Run a study on a SLURM of one node (Debian's, unpacked) and on dask, a worker killed
	tools/slurm.sh
	$(BIN)/pytest tests/cluster

.PHONY: fuzz
SECONDS ?= 10
fuzz: build/.system ## Fuzz every parser that reads from the network, SECONDS=10 for each
	device_probe/fuzz/run.sh $(SECONDS)

.PHONY: campaign
COUNT ?= 10000
campaign: setup ## Draw and run small scenarios of every kind, COUNT=10000, and account for all that they send; exit code 3 if one fails
	$(BIN)/python -m tools.campaign --count $(COUNT)

# With QUICK=1 the next four say whether everything runs, in seconds, and judge no time.
.PHONY: bench
BENCH_HOSTS ?= $(if $(QUICK),20,100 1000 10000 100000)
# With RIVALS=1, ns-3 and the code of IPv8 are installed, 300 MB; once there, they always take part.
bench: setup simgrid build/bench/bare_loop build/bench/bare_queues build/bench/bare_queues_o2 build/bench/barrier $(if $(RIVALS)$(wildcard build/bench/ns3_star),build/bench/ns3_star) ## Compare the engine's speed with other simulators on one workload (RIVALS=1: with two more)
	$(BIN)/python bench/run.py --hosts $(BENCH_HOSTS) $(if $(QUICK),--seconds 2 --repetitions 1 --memory 2000 12000)
	$(BIN)/python bench/hand_over.py $(if $(QUICK),1000)
	$(BIN)/python bench/ledger.py $(if $(QUICK),1)
	$(BIN)/python bench/own_trace.py $(if $(QUICK),1000,10000000)
	$(BIN)/python bench/studies.py $(if $(QUICK),--runs 4 --long-runs 2)
	$(BIN)/python bench/kept_connections.py $(if $(QUICK),50 20,2000 600)
	$(BIN)/python bench/kept_connections.py $(if $(QUICK),50 20,2000 600) lte
	$(BIN)/python bench/lookahead.py $(if $(QUICK),--scenarios udp_100b --sizes 100)
	$(BIN)/python bench/own_protocol.py $(if $(QUICK),100 5 --repetitions 1 --no-bar,1000 60)

.PHONY: bench-probe
ROUNDS ?= $(if $(QUICK),1,5)
bench-probe: setup ## Compare the probe's cryptography with libsodium's; exit code 3 beyond twice its time
	$(CARGO) build --release --locked -p pocketsim-probe
	$(BIN)/python bench/libsodium.py --rounds $(ROUNDS) $(if $(QUICK),--no-bar)

.PHONY: bench-bursts
bench-bursts: setup probe ## Put a million packets through bursts of loss, simulated and by `probe link`; exit code 3 beyond 5 %
	$(BIN)/python bench/bursts.py --probe build/bin/probe $(if $(QUICK),--packets 20000 --no-bar)

.PHONY: repeat-probe
REPEATED := $(if $(QUICK),--quick --only ed25519_sign --only ed25519_verify,--full) --quiet
repeat-probe: probe ## Make two full reports (ten minutes) and compare their medians; exit code 3 beyond 5 %
	build/bin/probe run $(REPEATED) -o build/repeat_1.json
	build/bin/probe run $(REPEATED) -o build/repeat_2.json
	python3 bench/repeat.py $(if $(QUICK),--no-bar) build/repeat_1.json build/repeat_2.json

.PHONY: lint lint-rust lint-python
lint: lint-rust lint-python ## Check formatting, lint and types

# In the profile and folder of the tests, so that what dependencies compile (SQLite) is compiled once.
lint-rust: build/.system
	$(CARGO) fmt --all --check
	$(CARGO) fmt --check --manifest-path device_probe/fuzz/Cargo.toml
	$(CARGO) clippy --profile test --workspace --all-targets --locked -- -D warnings
	CARGO_TARGET_DIR=target $(CARGO) clippy --profile test --manifest-path device_probe/fuzz/Cargo.toml --locked -- -D warnings
	$(CARGO) fmt --check --manifest-path $(TEMPLATE)
	CARGO_TARGET_DIR=build/template $(CARGO) clippy --all-targets --manifest-path $(TEMPLATE) --locked -- -D warnings

lint-python: .venv/.packages
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

.PHONY: fmt
fmt: .venv/.packages ## Format everything
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path device_probe/fuzz/Cargo.toml
	$(CARGO) fmt --manifest-path $(TEMPLATE)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/nbstripout --extra-keys "metadata.language_info" pocketsim/notebooks/*.ipynb

.PHONY: clean
clean: ## Remove everything that was built (not runs/)
	rm -rf build target device_probe/fuzz/target device_probe/android/tests/target sim/template/target .venv \
	  pocketsim/sim/*.so* \
	  .mypy_cache .ruff_cache .pytest_cache .hypothesis

.PHONY: help
help: ## This text
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Probe
# Tools of the Android build, in an environment of their own with what they import: they need nothing
# else of .venv, and whose packages python3 has differs between machines.
ANDROID := UV_PROJECT_ENVIRONMENT=build/android/python $(UV) run --frozen --only-group android python -m tools.android
PROBE_SOURCES := $(shell find device_probe sim/protocols -type f \
	\( -name '*.rs' -o -name '*.toml' -o -name '*.json' \) -not -path '*/target/*') Cargo.toml Cargo.lock
APP_SOURCES := $(shell find device_probe/android/app -type f)
ANDROID_TOOLS := $(shell find tools/android -type f -not -name '*.pyc')

.PHONY: probe
probe: build/.system ## Build the device probe for this machine: build/bin/probe
	$(CARGO) build --release --locked -p pocketsim-probe
	@mkdir -p build/bin && ln -sfn ../../target/release/probe build/bin/probe

.PHONY: probe-slow
# Without SQLite, of which no trade has anything: its C would be compiled once more.
probe-slow: build/.system ## Build it with slow cryptography, as another device: build/bin/probe-slow
	$(CARGO) build --profile slow-crypto --locked -p pocketsim-probe --no-default-features
	@mkdir -p build/bin && ln -sfn ../../target/slow-crypto/probe build/bin/probe-slow

.PHONY: probe-arm64
probe-arm64: build/android/probe ## Build the static probe for a phone's shell: build/android/probe

.PHONY: apk
apk: build/android/probe.apk ## Build the Android app: build/android/probe.apk; say its size and SHA-256 digest
	@stat -c '%n: %s bytes' $<
	@cd $(<D) && sha256sum $(<F) | tee $(<F).sha256

.PHONY: test-android
# The library beside the command: so they share what they are made of.
test-android: probe build/android/probe build/android/probe.apk build/android/harness .venv/.packages ## Test the app and the arm64 builds without a phone
	$(CARGO) build --release --locked -p pocketsim-probe -p pocketsim-probe-android
	mvn -B -q -ntp $(if $(OFFLINE),-o) -f device_probe/android/tests test
	$(BIN)/python -m pytest device_probe/android/tests

build/android/.system: build/.system tools/android/bootstrap.sh
	tools/android/bootstrap.sh
	@touch $@

build/android/jars/.complete: build/android/.system device_probe/android/tests/pom.xml
	$(ANDROID).jars

build/android/libprobe.so: build/android/jars/.complete $(PROBE_SOURCES) $(ANDROID_TOOLS)
	$(ANDROID).cargo aarch64-linux-android build --release --locked -p pocketsim-probe-android
	@cp target/aarch64-linux-android/release/libprobe.so $@

build/android/probe.apk: build/android/libprobe.so $(APP_SOURCES)
	$(ANDROID).apk

build/android/probe: build/android/.system $(PROBE_SOURCES) $(ANDROID_TOOLS)
	$(ANDROID).cargo aarch64-unknown-linux-musl build --release --locked -p pocketsim-probe
	@cp target/aarch64-unknown-linux-musl/release/probe $@

build/android/harness: build/android/.system device_probe/android/tests/harness/harness.c tools/android/harness.py
	$(ANDROID).harness

# The chain of a set-up: system packages, Python packages, the engine.
build/.system: tools/bootstrap.sh tools/apt_install.sh
	tools/bootstrap.sh
	@touch $@

# Compiled modules are made here: else the first call of each command would make them, in seconds.
SYNC := $(UV) sync --frozen --no-install-project --compile-bytecode --extra fit
# After what fetches, whose last lines say whether it could not.
OR_SAY = || { echo "not done: $(1). If the network was the reason: connect and run the same again, it goes on where it stopped" >&2; exit 1; }

.venv/.packages: build/.system pyproject.toml uv.lock
	@echo "installing Python packages (some 300 MB)" >&2
	@$(SYNC) --quiet $(call OR_SAY,the Python packages)
	@touch $@

# What builds the pages, beside what is there.
.venv/.docs: .venv/.packages
	@echo "installing what builds the pages" >&2
	@$(SYNC) --quiet --inexact --group docs $(call OR_SAY,the Python packages that build the pages)
	@touch $@

.venv/.engine: .venv/.packages pyproject.toml $(ENGINE_SOURCES)
	@echo "building the engine (three minutes on two cores)" >&2
	@$(BIN)/python -m tools.engine $(call OR_SAY,the engine)
	$(UV) pip install --quiet --python .venv --no-deps --no-build-isolation --reinstall --editable .
	$(BIN)/python -m compileall -q pocketsim
	@touch $@

# SimGrid, for runs with flows. Its Python distribution passes no options on to CMake, so a toolchain
# file sets them.
build/simgrid/.complete: .venv/.packages tools/simgrid_sdk.py tools/simgrid.cmake $(wildcard sim/engine/shim/*)
	tools/bootstrap.sh simgrid
	@echo "building SimGrid (some 9 minutes on two cores, unless uv's cache has it)" >&2
	@CMAKE_TOOLCHAIN_FILE=$(CURDIR)/tools/simgrid.cmake $(SYNC) --inexact --group simgrid $(call OR_SAY,SimGrid)
	$(BIN)/python tools/simgrid_sdk.py
	@touch $@

# The rival of `make bench` that calls SimGrid directly, linked to the library that the engine loads.
build/bench/bare_loop: bench/bare_loop.cpp bench/machine.hpp build/simgrid/.complete
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -O2 -Wall -Wextra -Ibuild/simgrid/include $< -o $@ \
	  -Lbuild/simgrid/lib -lsimgrid -Wl,-rpath,$(CURDIR)/build/simgrid/lib

# The one that is no simulator: a heap and queues. At -O3 it is the limit; -O2 is what it was before.
build/bench/bare_queues: bench/bare_queues.cpp bench/machine.hpp
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -O3 -Wall -Wextra $< -o $@

build/bench/bare_queues_o2: bench/bare_queues.cpp bench/machine.hpp
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -O2 -Wall -Wextra $< -o $@

# How long two threads take to meet.
build/bench/barrier: bench/barrier.cpp
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -O2 -Wall -Wextra -pthread $< -o $@

# Rivals that are no part of a set-up, in an environment of their own. ns-3's distribution has headers
# and libraries inside; what it needs for Python's sake is left out, since nothing here calls that.
RIVALS_PYTHON := build/bench/rivals
NS3 := 3.44
build/bench/rivals/.complete: build/.system
	$(UV) venv --quiet --clear --python $(BIN)/python $(RIVALS_PYTHON)
	$(UV) pip install --quiet --python $(RIVALS_PYTHON) pyipv8==3.2.1
	$(UV) pip install --quiet --python $(RIVALS_PYTHON) --no-deps ns3==$(NS3).post0
	@touch $@

build/bench/ns3_star: bench/ns3_star.cpp bench/machine.hpp build/bench/rivals/.complete
	ns3=$$(echo $(CURDIR)/$(RIVALS_PYTHON)/lib/python3*/site-packages/ns3) && \
	  $(CXX) -std=c++20 -O2 -Wall -Wextra -isystem $$ns3/include $< -o $@ -L$$ns3/lib64 -Wl,-rpath,$$ns3/lib64 \
	  $(addprefix -lns$(NS3)-,core network internet point-to-point)
