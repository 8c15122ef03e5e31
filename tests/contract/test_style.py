"""Rules that linters do not have: plain English, names with one meaning, short signatures."""

import ast
import gc
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]

# Relative words in place of a noun, and first words of texts without a verb. Both are rare in
# well-known projects: 1 to 5 in 1,000 words, and 0 to 3 % of docstrings.
RELATIVE_WORDS: Final = re.compile(
    r"\b(what|which|whatever|whoever|whose|that of|those of|is none|so many|as far as|the one that"
    r"|those that)\b",
    re.IGNORECASE,
)
FRAGMENT: Final = re.compile(
    r"(What|Whether|How|Of|By|Those|Where|Why|Which|None|One|When|That|As|From|Whose|It|Some|All)\b"
)
MOST_RELATIVE_WORDS: Final = 5.0  # in 1,000
MOST_FRAGMENTS: Final = 3.0  # percent

# Words without a meaning of their own; a noun describes the content of a variable or a result.
PRONOUNS: Final = frozenset(
    """
        anything each everyone everything found here hers his how it its mine nobody nothing one
        ones others ours rest some something such that theirs them there they thing things this
        those told what when where which who whom whose why
    """.split()
)
# The wire name for the subject of a difference between a backtest and its run.
ON_THE_WIRE: Final = ("apps/trading/activity/drift/", "what")

CLIENT: Final = "apps/client/"

MOST_PARAMETERS: Final = 7
MOST_KEYWORD_PARAMETERS: Final = 12

# Names that stand for one role in several modules.
ROLES: Final = frozenset(
    {
        # As Django and Python name them: a management command, a logger; a model's field and the
        # serializer's field for the same value.
        "Command",
        "log",
        "register",
        "urlpatterns",
        # Services, called as `services.create`, and the lifecycle of jobs.
        "create",
        "delete",
        "enqueue",
        "fail",
        "purge",
        "read",
        "requeue_stalled",
        "trades",
        "work",
        # Compiles, or loads, the functions of a module.
        "warm_up",
        # Start evidence, and read the origin of a request.
        "begin",
        # Descriptions of file formats, and the name of a header: `fyers.SOURCE`.
        "COLUMNS",
        "HEADER",
        "SOURCE",
    }
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Definition(NamedTuple):
    """A name, its line, and its value there."""

    name: str
    location: str
    value: str = ""
    is_function: bool = False


@dataclass(frozen=True, eq=False)
class Module:
    """A Python file with its syntax tree, and all nodes of the tree."""

    path: str
    tree: ast.Module
    nodes: list[ast.AST]

    @property
    def name(self) -> str:
        path = Path(self.path)
        return path.parent.name if path.name == "__init__.py" else path.stem

    def at(self, node: ast.stmt | ast.expr | ast.arg) -> str:
        return f"{self.path}:{node.lineno}"


@cache
def modules(*folders: str) -> list[Module]:
    """Return the project's modules without migrations.

    Millions of nodes stay in memory. The garbage collector skips them, now and in later tests.
    """
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    gc.disable()
    parsed_modules = [parsed(path) for path in paths if "migrations" not in path.parts]
    gc.freeze()
    gc.enable()
    return parsed_modules


@cache
def parsed(path: Path) -> Module:
    tree = ast.parse(path.read_text())
    return Module(path.relative_to(ROOT).as_posix(), tree, list(ast.walk(tree)))


@cache
def definitions(module: Module) -> list[Definition]:
    """Return every class, function, parameter and variable of a module, and its own name."""
    names = [Definition(module.name, module.path)]
    for node in module.nodes:
        if isinstance(node, ast.ClassDef | Function):
            is_function = isinstance(node, Function)
            names.append(Definition(node.name, module.at(node), is_function=is_function))
        elif isinstance(node, ast.arg):
            names.append(Definition(node.arg, module.at(node)))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(Definition(node.id, module.at(node)))
    return names


def top_level(module: Module) -> Iterator[Definition]:
    """Yield the public names that a module defines for others."""
    for node in module.tree.body:
        names: list[str] = []
        value = ""
        if isinstance(node, ast.ClassDef | Function):
            names, value = [node.name], module.at(node)
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            value = ast.unparse(node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            names, value = [node.target.id], ast.unparse(node.value)
        for name in names:
            if not name.startswith("_"):
                yield Definition(name, module.at(node), value)


def docstrings(*folders: str) -> list[str]:
    texts = [
        ast.get_docstring(node)
        for module in modules(*folders)
        for node in module.nodes
        if isinstance(node, ast.Module | ast.ClassDef | Function)
    ]
    return [" ".join(text.split()) for text in texts if text]


def relative_words_in(texts: Iterable[str]) -> float:
    """Return the relative words in 1,000 words."""
    text = " ".join(texts)
    return 1_000 * len(RELATIVE_WORDS.findall(text)) / len(text.split())


@pytest.mark.parametrize("folders", [("apps", "config"), ("tests",)])
def test_docstrings_are_plain_sentences(folders: tuple[str, ...]) -> None:
    texts = docstrings(*folders)
    fragments = [text for text in texts if FRAGMENT.match(text)]
    assert relative_words_in(texts) < MOST_RELATIVE_WORDS
    assert 100 * len(fragments) / len(texts) < MOST_FRAGMENTS, fragments


def test_pages_have_few_relative_words() -> None:
    pages = [path for path in ROOT.rglob("*.md") if ".venv" not in path.parts]
    assert len(pages) > 20
    assert relative_words_in(path.read_text() for path in pages) < MOST_RELATIVE_WORDS


def is_pronoun(definition: Definition) -> bool:
    """Return whether a name is a pronoun, or `place` as a variable: here it is a verb."""
    name = definition.name.strip("_").lower()
    folder, wire_name = ON_THE_WIRE
    if name == wire_name and definition.location.startswith(folder):
        return False
    return name in PRONOUNS or (name == "place" and not definition.is_function)


def test_names_are_nouns_and_verbs_and_no_pronouns() -> None:
    pronouns = [
        f"{definition.location} {definition.name}"
        for module in modules("apps", "config", "tests")
        for definition in definitions(module)
        if is_pronoun(definition)
    ]
    assert pronouns == []


def repeated_names(*, in_client: bool) -> dict[str, list[str]]:
    """Return the public names that mean several things, with the places that define them.

    The same alias of a type, or a constant of the same value, may be written wherever it is used.
    The client is a package of its own: its `Backtest` is the service's, as a caller sees it.
    """
    places = defaultdict(list)
    for module in modules("apps", "config"):
        if module.path.startswith(CLIENT) == in_client:
            for definition in top_level(module):
                places[definition.name].append(definition)
    return {
        name: [definition.location for definition in repeated]
        for name, repeated in sorted(places.items())
        if len({definition.value for definition in repeated}) > 1
    }


def test_a_public_name_has_one_meaning() -> None:
    repeated = repeated_names(in_client=False)
    assert {name: repeated[name] for name in repeated.keys() - ROLES} == {}
    assert repeated.keys() >= ROLES
    assert repeated_names(in_client=True) == {}


def too_many_parameters(function: Function) -> bool:
    """Return whether a function takes more parameters than a reader can remember."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    if positional and positional[0].arg in ("self", "cls"):
        positional = positional[1:]
    count = len(positional) + len(arguments.kwonlyargs)
    relaxed = len(positional) < 3 or function.name == "__init__"
    return count > (MOST_KEYWORD_PARAMETERS if relaxed else MOST_PARAMETERS)


def test_functions_take_few_parameters() -> None:
    long = [
        f"{module.at(node)} {node.name}"
        for module in modules("apps", "config", "tests")
        for node in module.nodes
        if isinstance(node, Function) and too_many_parameters(node)
    ]
    assert long == []


COMPILER_PARTS: Final = frozenset({"ctypes", "llvmlite"})
NAMED_TUPLE: Final = frozenset({"_asdict", "_fields", "_make", "_replace"})  # public all the same


def imported(module: Module) -> Iterator[Definition]:
    """Yield the modules and names that a module imports, dotted."""
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from (Definition(alias.name, module.at(node)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield Definition(f"{node.module}.{alias.name}", module.at(node))


def test_the_engine_uses_public_names_of_other_packages() -> None:
    """No parts of the compiler, no addresses, nothing that begins with an underscore."""
    private = []
    for module in modules("apps/engine"):
        for name in imported(module):
            if COMPILER_PARTS & set(name.name.split(".")) or re.search(r"\._(?!_)", name.name):
                private.append(f"{name.location} {name.name}")
        own = {name.name for name in definitions(module)}
        private += [
            f"{module.at(node)} {ast.unparse(node)}"
            for node in module.nodes
            if isinstance(node, ast.Attribute)
            and re.match("_(?!_)", node.attr)
            and ast.unparse(node.value) not in ("self", "cls")
            and node.attr not in own | NAMED_TUPLE
        ]
    assert private == []
