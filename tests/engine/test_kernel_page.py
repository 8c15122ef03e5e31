"""The page that walks one bar through the kernel names its functions in order."""

import ast
import inspect
import re
from typing import Any, cast

from apps.engine.kernel import codes, kernel, records
from tests.processes import PROJECT

PAGE = (PROJECT / "apps" / "engine" / "README.md").read_text()
WALK = PAGE.partition("### One bar")[2].partition("\n## ")[0]
NAMED = re.findall(r"`(\w+)[`(]", WALK)


def test_every_name_on_the_page_is_in_the_kernel() -> None:
    fields = {
        name
        for layout in (kernel.SLOT, kernel.WORK, records.ACCOUNT_STATE, records.POSITION)
        for name in layout.names or ()
    }
    kinds = {"step", "phase"}
    known = fields | kinds | {*vars(kernel), *vars(records), *vars(codes)}
    assert [name for name in NAMED if name not in known] == []


def test_the_page_names_the_functions_of_a_row_in_order() -> None:
    source = inspect.getsource(cast(Any, kernel.run_rows).py_func)
    loop = next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.While))
    calls = [
        node
        for statement in loop.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    called = sorted(
        {cast(ast.Name, call.func).id: call for call in reversed(calls)}.items(),
        key=lambda item: (item[1].end_lineno, item[1].end_col_offset),
    )
    assert [name for name, _ in called] == [
        name for name in dict.fromkeys(NAMED) if name in dict(called)
    ]
