# The verbs.  What they do is in tools/; `make setup` brings what is missing and runs before each.
PY := .venv/bin/python
CHECK := $(PY) tools/suite.py
QUICK := -m 'not long and not integration'

help:			## print these verbs
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup:			## install what is missing here: packages, .venv with the tools, sources
	@tools/setup

all: setup		## build into build/
	@$(PY) tools/tree.py build

demo: all		## trace a small model and show the report; MODEL=minilm or numpy
	@$(PY) tools/demo.py build $(MODEL)

e2e-demo: demo		## the same

test: 			## build and test; at most 25 minutes
	@tools/setup test
	@$(PY) tools/tree.py build
	@$(CHECK) build $(QUICK)

unit: setup		## build, and run the C tests without fuzzing and torture: under a minute
	@$(PY) tools/tree.py build
	@$(CHECK) build --unit --quick

golden: setup		## write tests/golden as the reports are now, and show what that changes
	@$(PY) tools/tree.py build
	@$(PY) tools/golden.py build

full:			## everything, with long counts and every Python: hours
	@tools/setup test fuzz integration
	@$(MAKE) --no-print-directory lint docs
	@$(PY) tools/tree.py build
	@$(CHECK) build --long --pythons 3.9,3.10,3.11,3.12,3.13
	@$(MAKE) --no-print-directory asan tsan bench
	@$(PY) tools/fuzz.py --runs 1000000

truth:			## programs that know what is wrong with them against the verdict on them
	@tools/setup test
	@$(PY) tools/tree.py build
	@.venv/bin/meson install -C build --no-rebuild --quiet --destdir "$(CURDIR)/build/stage"
	@$(PY) tests/truth/truth.py build/stage/usr/local/bin/inferscope --cuda build/tests/double/libcuda_double.so \
		--publish docs/verdict.md --python "$$($(PY) tools/pythons.py 3.11)"

field:			## programs that others wrote, with their fault and repaired, against the verdict on them; NAMES=some of them
	@tools/setup test
	@$(PY) tools/tree.py build
	@.venv/bin/meson install -C build --no-rebuild --quiet --destdir "$(CURDIR)/build/stage"
	@$(PY) tests/field/field.py build/stage/usr/local/bin/inferscope --python "$$($(PY) tools/environments.py field)" \
		$(if $(NAMES),$(NAMES),--publish docs/field.md)

truth-options:		## ten programs under eight sets of options: does the report say the same?  half an hour
	@tools/setup test
	@$(PY) tools/tree.py build
	@.venv/bin/meson install -C build --no-rebuild --quiet --destdir "$(CURDIR)/build/stage"
	@$(PY) tests/truth/options.py build/stage/usr/local/bin/inferscope --python "$$($(PY) tools/environments.py field)"

soak: setup		## a torch server under load for MINUTES=60, each minute against its limits; VLLM=1: vLLM, 20 minutes
	@$(PY) tools/tree.py build-release -Dbuildtype=release
	@$(PY) tools/soak.py build-release $(if $(VLLM),--vllm) $(if $(MINUTES),--minutes $(MINUTES))

examples: all		## the examples, each with its fault and without; the figures go into docs/examples.md
	@$(PY) tools/examples.py build --publish docs/examples.md

asan:			## tests under the address and undefined behaviour sanitizers
	@tools/setup test
	@$(PY) tools/tree.py build-asan -Db_sanitize=address,undefined -Db_lundef=false
	@ASAN_OPTIONS=handle_segv=0:handle_abort=0 $(CHECK) build-asan tests/e2e -m 'not long and not integration and not plain'

tsan: setup		## C tests under the thread sanitizer
	@$(PY) tools/tree.py build-tsan -Db_sanitize=thread -Db_lundef=false -Dpython=disabled
	@$(CHECK) build-tsan --unit

fuzz-smoke:		## 50,000 runs of each fuzz target
	@tools/setup fuzz
	@$(PY) tools/fuzz.py --runs 50000

bench: setup		## what tracing costs, measured here; LONG=1: more runs
	@$(PY) tools/tree.py build-release -Dbuildtype=release
	@$(PY) tools/bench.py build-release $(if $(LONG),--long)

matrix:			## installation and end-to-end tests on every Python found
	@tools/setup test
	@$(PY) tools/tree.py build
	@$(CHECK) build --no-unit --pythons 3.9,3.10,3.11,3.12,3.13 tests/packaging tests/e2e $(QUICK)

integration:		## other projects' programs under the command
	@tools/setup test integration
	@$(PY) tools/tree.py build
	@$(CHECK) build --no-unit -m 'integration and not long'

compat:			## other projects' own tests, with and without tracing, on every Python found: hours
	@tools/setup test integration
	@$(PY) tools/tree.py build
	@$(CHECK) build --no-unit --pythons 3.9,3.10,3.11,3.12,3.13 tests/e2e/compat tests/e2e/test_torch.py

wheel: setup		## a wheel for every Python found, into dist/
	@$(PY) tools/release.py wheel --some

release: setup		## the wheel, and a tarball with a static command, into dist/
	@$(PY) tools/release.py

docs: setup		## check the documentation: links, promised tests, the interface page
	@$(PY) -m pytest -q tests/project/test_docs.py tests/project/test_icd.py

coverage: setup		## line coverage of the C tests, into build-coverage/coverage.txt
	@$(PY) tools/tree.py build-coverage -Db_coverage=true
	@$(CHECK) build-coverage $(QUICK)
	@.venv/bin/gcovr --root . --filter src/ --exclude-throw-branches build-coverage | tee build-coverage/coverage.txt

lint: setup		## ruff, mypy and clang-format, changing nothing
	@$(PY) -m ruff check --quiet . && $(PY) -m ruff format --check --quiet .
	@$(PY) -m mypy
	@git ls-files '*.c' '*.h' | xargs .venv/bin/clang-format --dry-run -Werror

format: setup		## put every file into shape
	@$(PY) -m ruff check --fix --quiet . && $(PY) -m ruff format --quiet .
	@git ls-files '*.c' '*.h' | xargs .venv/bin/clang-format -i

clean:			## remove what was built; .venv and the fetched sources stay
	@rm -rf build build-asan build-tsan build-fuzz build-release build-coverage build-static dist

.PHONY: help setup all demo e2e-demo examples test unit golden full truth field truth-options soak asan tsan fuzz-smoke bench matrix integration compat wheel release docs coverage lint format clean
.NOTPARALLEL:
