# Each rule is a line or two that can be typed without make.

# The first Python from 3.11 on that really runs; PYTHON=... chooses another.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)

.PHONY: run test demo bench prove soak check install

run: install
	.venv/bin/python manage.py up

test: install
	.venv/bin/python -m pytest -q -n auto --dist worksteal

demo: install
	.venv/bin/python manage.py demo

bench: install
	.venv/bin/python -m pytest tests/benchmarks -m bench -s --table README.md

prove: install
	.venv/bin/python -m pytest -m "slow or proof"

soak: install
	.venv/bin/python -m tests.faults.soak --minutes 30 --rate 20

check: install
	.venv/bin/ruff format --check . && .venv/bin/ruff check . && .venv/bin/mypy && .venv/bin/lint-imports
	.venv/bin/python manage.py check --deploy --fail-level WARNING && .venv/bin/python manage.py makemigrations --check --dry-run

install: .venv/installed

.venv/installed: requirements.txt
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 or newer found: install one, or set PYTHON"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "error: $(PYTHON) cannot make virtual environments: sudo apt-get install -y python3-venv"; exit 1; }
	$(PYTHON) -m venv .venv && .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch .venv/installed
