# All the commands of this project. Each target first sets up the environment; once that is ready, this
# takes almost no time. ARGS is passed on: make lab ARGS=--no-browser, make test ARGS="-k lint".
.DEFAULT_GOAL := help
ARGS ?=
code := benchmarks course_utils grader tests

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: environment
environment: ## create or update .venv
	@scripts/setup_environment.sh

.PHONY: browser
browser: ## install Chromium and bubblewrap (tests, sandboxed grading)
	@scripts/setup_browser.sh

.PHONY: lab
lab: environment ## open the labs in JupyterLab, at the map of the course
	@.venv/bin/python -m course_utils notebooks
	@cp grader/handout/for_assistants.md notebooks/AGENTS.md
	@scripts/open_jupyter.sh --ServerApp.root_dir="$(CURDIR)/notebooks" --LabApp.default_url=/lab/tree/START.md $(ARGS)

.PHONY: instructor
instructor: environment ## open JupyterLab at the project's root, with formgrader, the page about the week and the page for answers graded by hand
	@scripts/open_jupyter.sh --ServerApp.root_dir="$(CURDIR)" --ServerApp.jpserver_extensions=grader.by_hand.page=True $(ARGS)

.PHONY: build
build: environment ## make notebooks/ from solutions/
	@.venv/bin/grader build $(ARGS)

.PHONY: site
site: environment ## make web pages of the course in site/ (runs every lab once, about half an hour on two cores; ARGS=--quick: none)
	@scripts/setup_extra.sh lite
	@.venv/bin/grader site $(ARGS)

.PHONY: kit
kit: environment ## make pages for those who teach in kit/ (runs every lab once, as site does; ARGS=--quick: none)
	@.venv/bin/grader kit $(ARGS)

.PHONY: timings
timings: environment ## measure how long each lab runs, and write it on the lab's first page
	@.venv/bin/python -m pytest tests/test_notebooks.py::test_the_solved_lab_runs_from_top_to_bottom_without_error_or_stderr --all --every-lab --write-timings $(ARGS)
	@.venv/bin/grader build

.PHONY: demo
demo: environment ## grade made-up submissions to see how it works
	@.venv/bin/grader demo $(ARGS)

.PHONY: test
test: environment browser ## run the tests (ARGS=--all: the full proof, which takes several times as long)
	@scripts/run_tests.sh $(ARGS)

.PHONY: bench-grading
bench-grading: environment browser ## compare grading times with nbgrader's own (about 20 minutes)
	@.venv/bin/python benchmarks/grading.py $(ARGS)

.PHONY: bench-class
bench-class: environment browser ## show how collect, feedback, reports and exports grow with the class (about two minutes)
	@.venv/bin/python benchmarks/class_size.py $(ARGS)

.PHONY: bench-watch
bench-watch: environment browser ## show how long learners wait for feedback on hand-in (about a quarter of an hour)
	@.venv/bin/python benchmarks/hand_ins.py $(ARGS)

.PHONY: bench-start
bench-start: environment ## show what commands cost before they do anything (about a minute)
	@.venv/bin/python benchmarks/start.py $(ARGS)

.PHONY: lint
lint: environment ## check the style and layout of the code
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .

.PHONY: clean
clean: ## remove what can be made again (not .venv, not grading/)
	@rm -rf .build .demo .pytest_cache .ruff_cache .hypothesis *.egg-info
	@find $(code) solutions -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
