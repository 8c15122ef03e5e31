# Each rule is a line or two that can be typed without make.

# The first Python from 3.11 on that really runs; PYTHON=... chooses another.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)

.PHONY: run test demo bench prove browse soak check audit install tools

run: install
	.venv/bin/python manage.py up --sample

test: tools
	.venv/bin/python -m pytest -q -n auto --dist worksteal

demo: install
	.venv/bin/python -m pip install --quiet --disable-pip-version-check ./apps/client && .venv/bin/python manage.py demo

bench: tools
	.venv/bin/python -m pytest tests/benchmarks -m bench -s --table tests/benchmarks/README.md

prove: tools
	.venv/bin/python -m pytest -m "slow or proof"

browse: tools
	.venv/bin/python -m pytest -m browser -s tests/console/browser

soak: tools
	.venv/bin/python -m tests.faults.soak --minutes 30 --rate 20

check: tools
	.venv/bin/ruff format --check . && .venv/bin/ruff check . && .venv/bin/mypy && .venv/bin/lint-imports
	.venv/bin/python manage.py check --deploy --fail-level WARNING && .venv/bin/python manage.py makemigrations --check --dry-run

# What the service is made of (.venv/sbom.json), and what is known against it; it asks PyPI.
audit: install
	.venv/bin/python -m venv .venv/audit && .venv/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1 cyclonedx-bom==7.5.0
	.venv/audit/bin/cyclonedx-py requirements requirements.txt --output-file .venv/sbom.json && echo "SBOM: .venv/sbom.json"
	.venv/audit/bin/pip-audit --requirement requirements.txt --require-hashes --disable-pip --strict

install: .venv/installed

.venv/installed: requirements.txt
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 or newer found: install one, or set PYTHON"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "error: $(PYTHON) cannot make virtual environments: sudo apt-get install -y python3-venv"; exit 1; }
	$(PYTHON) -m venv .venv && .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch .venv/installed

# What tests and checks need beside.
tools: .venv/tools

.venv/tools: .venv/installed tests/requirements.txt
	.venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt && touch .venv/tools
