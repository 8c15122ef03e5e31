"""Numbers in the forms of people, exchanges and portals.

Known forms: 1234.5; thousands separated by commas as in 1,234,567 or 12,34,567; with K, M, B, L or
Cr for a thousand, a million, a thousand million, a lakh and a crore; with a decimal comma (2590,05
or 2.590,05) in a file that proves it: a value can be read in no other way. An empty cell, `-`,
`null` and `NaN` are missing values.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from apps.market.importers.tables.file_table import Column, FileTable

_MISSING: Final = ("", "-", "--", "null", "none", "nan", "na", "n/a", "nil", "#n/a")
_SCALES: Final = {
    "k": 1e3,
    "m": 1e6,
    "b": 1e9,
    "l": 1e5,
    "lacs?": 1e5,
    "lakhs?": 1e5,
    "crs?": 1e7,
    "crores?": 1e7,
}
_SCALE: Final = rf"\s*(?:{'|'.join(_SCALES)})\.?$"
_GROUPED: Final = r"^[+-]?[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}(?:\.[0-9]*)?$"
_DECIMAL_COMMA: Final = r"^[+-]?(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+)(?:,[0-9]+)?$"
# A comma that no grouping has: before one or two last digits, or after four.
_PROOF: Final = r"^[+-]?(?:[0-9.]*,[0-9]{1,2}|[0-9]{4,},[0-9]+)$"


def read_numbers(table: FileTable, indices: Collection[int]) -> Sequence[NDArray[np.float64]]:
    """Return these columns as f8[n], NaN for missing values; refuse other text."""
    texts = {index: table.columns[index] for index in indices if _is_text(table.columns[index])}
    texts = {index: _spelled(column) for index, column in texts.items()}
    comma = _has_decimal_comma(texts.values())
    return [
        _of_text(table, index, texts[index], decimal_comma=comma)
        if index in texts
        else _of_values(table, index)
        for index in indices
    ]


def _is_text(column: Column) -> bool:
    return pa.types.is_string(column.type)


def _of_values(table: FileTable, index: int) -> NDArray[np.float64]:
    numbers = table.cast(index, pa.float64(), "is no number")
    return np.asarray(numbers.to_numpy(), dtype=np.float64)


# Any: the stubs know only some of the kinds of values that Arrow computes with.
def _spelled(column: Column) -> Any:
    """Return the text in lower case without a rupee sign, null for missing values."""
    lower: Any = pc.utf8_lower(pc.replace_substring(column, "\u20b9", ""))
    lower = pc.utf8_trim_whitespace(lower)
    missing = pc.is_in(lower, pa.array(_MISSING))
    return pc.if_else(missing, pa.scalar(None, pa.string()), lower)


def _has_decimal_comma(columns: Collection[Column]) -> bool:
    """Return whether every value fits a decimal comma and at least one fits nothing else."""
    proven = False
    for column in columns:
        marked = pc.filter(column, pc.match_substring_regex(column, "[.,]"))
        if pc.all(pc.match_substring_regex(marked, _DECIMAL_COMMA)).as_py() is False:
            return False
        proven |= bool(pc.any(pc.match_substring_regex(marked, _PROOF)).as_py())
    return proven


def _of_text(
    table: FileTable, index: int, column: Any, *, decimal_comma: bool
) -> NDArray[np.float64]:
    """Return the numbers of a column of text; refuse the first value that is not a number."""
    if decimal_comma:
        column = pc.replace_substring(pc.replace_substring(column, ".", ""), ",", ".")
    try:
        return _floats(column)
    except pa.ArrowInvalid:
        pass
    scale = np.ones(len(table))
    for name, factor in _SCALES.items():
        ends: Any = pc.match_substring_regex(column, rf"[0-9]\s*{name}\.?$")
        scale[np.asarray(pc.fill_null(ends, False))] = factor
    column = pc.replace_substring_regex(column, rf"([0-9]){_SCALE}", r"\1")
    grouped: Any = pc.match_substring_regex(column, _GROUPED)
    column = pc.if_else(grouped, pc.replace_substring(column, ",", ""), column)
    numbers = table.converted(column, index, pa.float64(), "is no number")
    return _floats(numbers) * scale


def _floats(column: Any) -> NDArray[np.float64]:
    numbers: Any = pc.fill_null(pc.cast(column, pa.float64()), np.nan)
    return np.asarray(numbers.to_numpy(), dtype=np.float64)
