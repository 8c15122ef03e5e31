"""The pages of the project and their fenced blocks."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.processes import PROJECT

TOP: Final = ("README.md", "CONTRIBUTING.md", "SECURITY.md")
# A working order of the examples: the instrument masters of the last page delist shares.
FOLDERS: Final = (
    *("apps/accounts", "apps/algorithms", "apps/backtests", "apps/trading", "apps/webhooks"),
    "apps/alerts",
    *("config", "apps/market", "apps/symbols"),
)


def _pages() -> dict[str, str]:
    """Return the texts of all pages, keyed by path, in the order of their blocks."""
    folders = (PROJECT / folder for folder in ("apps", "config", "tests"))
    readmes = sorted(path for folder in folders for path in folder.rglob("README.md"))
    ordered = (*TOP, *(f"{folder}/README.md" for folder in FOLDERS))
    names = dict.fromkeys((*ordered, *(str(path.relative_to(PROJECT)) for path in readmes)))
    return {name: (PROJECT / name).read_text() for name in names}


PAGES: Final = _pages()


@dataclass(frozen=True, slots=True)
class Block:
    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def first_line(self) -> str:
        return self.text.partition("\n")[0]


def _blocks() -> list[Block]:
    fence = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    return [
        Block(page, text.count("\n", 0, match.start()) + 1, match[1], match[2])
        for page, text in PAGES.items()
        for match in fence.finditer(text)
    ]


BLOCKS: Final = _blocks()


def blocks_in(language: str) -> list[Block]:
    return [block for block in BLOCKS if block.language == language]


def section(page: str, heading: str) -> str:
    return PAGES[page].split(f"## {heading}\n")[1].split("\n## ")[0]


def shell(text: str) -> str:
    """Return the fenced shell blocks of a text, joined in their order."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))


def folder_of(page: str) -> Path:
    return (PROJECT / page).parent
