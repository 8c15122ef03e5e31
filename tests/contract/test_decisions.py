"""The decision records are few and short, and every reference leads to one of them."""

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
RECORDS: Final = sorted((ROOT / "config" / "decisions").iterdir())
MOST_RECORDS: Final = 30
MOST_WORDS: Final = 250


def number(path: Path) -> str:
    return path.name[:4]


def test_the_records_are_few_and_numbered() -> None:
    assert 0 < len(RECORDS) <= MOST_RECORDS
    assert len({number(path) for path in RECORDS}) == len(RECORDS)


@pytest.mark.parametrize("record", RECORDS, ids=number)
def test_a_record_is_short_and_has_its_four_parts(record: Path) -> None:
    text = record.read_text()
    assert len(text.split()) <= MOST_WORDS
    assert text.startswith(f"# {number(record)} ")
    parts = re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE)
    assert parts == ["Context", "Decision", "Alternatives", "Price"]


def test_every_reference_names_a_record() -> None:
    pages = [
        page for folder in ("apps", "config", "tests") for page in (ROOT / folder).rglob("*.*")
    ]
    pages += [*ROOT.glob("*.md"), ROOT / "pyproject.toml"]
    texts = [page.read_text() for page in pages if page.suffix in {".md", ".py", ".toml"}]
    pattern = re.compile(r"(?:decisions?[ /]|\]\()(0\d{3})\b")
    named = {name for text in texts for name in pattern.findall(text)}
    between_records = re.compile(r"\((0\d{3})[),]")
    named |= {name for path in RECORDS for name in between_records.findall(path.read_text())}
    assert len(named) > 1
    assert named <= set(map(number, RECORDS))
