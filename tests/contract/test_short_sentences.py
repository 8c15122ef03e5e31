"""Sentences about a result are short, in every case that the code can write."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
FILES: Final = sorted(
    [
        *(ROOT / "apps/engine/evidence").glob("*.py"),
        *(ROOT / "apps/backtests/analysis/report").glob("*drawings.py"),
    ]
)
MOST_WORDS: Final = 20


def texts_of(tree: ast.Module) -> Iterator[str]:
    """Yield the strings of code other than docstrings; a filled-in value counts as a word."""
    nodes = list(ast.walk(tree))
    left_out: set[ast.AST | None] = {node.value for node in nodes if isinstance(node, ast.Expr)}
    left_out |= {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    left_out |= {node.format_spec for node in nodes if isinstance(node, ast.FormattedValue)}
    for node in nodes:
        if node in left_out:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.])\s+", text)


def test_sentences_are_split_at_their_ends() -> None:
    tree = ast.parse('"""Left out."""\nsaid = f"One of {most:,} is here. " "Two words."')
    assert [sentences(text) for text in texts_of(tree)] == [["One of X is here.", "Two words."]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_sentence_about_a_result_is_long(path: Path) -> None:
    long = [
        sentence
        for text in texts_of(ast.parse(path.read_text(encoding="utf-8")))
        for sentence in sentences(text)
        if len(sentence.split()) > MOST_WORDS
    ]
    assert long == []
