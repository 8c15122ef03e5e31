"""Files of splits, bonuses and dividends: our own (symbol, ex_date, kind, ratio, source, and amount
where there are dividends), and the exchange's list of corporate actions, whose subjects are read
(symbol, ex_date, subject).

A ratio is written as announced: a bonus of 1:2 gives one new share for two old ones, a split of 5:1
makes five shares of one. Subjects describe a split by the face value before and after, and a
dividend by rupees a share.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Final

from apps.market.candles.corporate_actions import ActionRow, DividendRow
from apps.market.importers.bar_columns import InstrumentName
from apps.market.importers.tables.content import BadCandleFile, contents_of
from apps.market.importers.tables.times import day_from
from apps.market.importers.vendor_names import name_instrument
from apps.market.models import MOST_SHARES

_KINDS: Final = ("split", "bonus", "dividend")
_RATIO: Final = re.compile(r"([0-9]{1,5})\s*:\s*([0-9]{1,5})")
_BONUS: Final = re.compile(r"bonus\s*-?\s*(?:issue\s*)?([0-9]{1,5})\s*:\s*([0-9]{1,5})", re.I)
_FACE_VALUE: Final = re.compile(
    r".*(?:split|sub-?division|consolidation).*?from\s+r[es]\.?\s*([0-9.]+).*?"
    r"to\s+r[es]\.?\s*([0-9.]+).*",
    re.I,
)
# The rupees of each dividend that a subject names, such as an interim and a special one.
_RUPEES: Final = re.compile(
    r"dividend[^/&+;]{0,60}?\br[es]\.?\s*([0-9]{1,6}(?:\.[0-9]{1,4})?)", re.I
)
_AMOUNT: Final = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,4})?")
_SUBJECTS: Final = ("subject", "purpose")
_EX_DATES: Final = ("ex_date", "exdate", "ex-date")
_SHOWN: Final = 10
# Of a subject: the patterns that read one try many ways over a long text.
_LONGEST_SUBJECT: Final = 500


@dataclass(frozen=True, slots=True)
class ActionFile:
    """A file's corporate actions, and its dividends; `skipped` counts rows that are neither, by the
    beginning of their subject.
    """

    rows: tuple[ActionRow, ...]
    dividends: tuple[DividendRow, ...]
    skipped: Mapping[str, int]


class _InvalidRow(Exception):
    """A row that is not a corporate action; the message says why."""


def read_actions(path: Path) -> ActionFile:
    """Read the corporate actions of the files at a path.

    Raises BadCandleFile, which lists the first bad rows with their lines.
    """
    rows: list[ActionRow] = []
    dividends: list[DividendRow] = []
    skipped: Counter[str] = Counter()
    faults: list[str] = []
    for content in contents_of(path):
        reader = csv.DictReader(io.StringIO(_text(content.shown, content.data)))
        names = {name.strip().lower(): name for name in reader.fieldnames or ()}
        _check_columns(content.shown, names)
        for cells in reader:
            values = {key: (cells.get(name) or "").strip() for key, name in names.items()}
            try:
                row, dividend = _row(values, content.shown), _dividend(values, content.shown)
            except _InvalidRow as error:
                faults.append(f"line {reader.line_num}: {error}")
                continue
            if row is not None:
                rows.append(row)
            if dividend is not None:
                dividends.append(dividend)
            if row is None and dividend is None:
                skipped[re.split(r"[-:0-9]", _first(values, _SUBJECTS))[0].strip()] += 1
        if faults:
            more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
            raise BadCandleFile(file=content.shown, reason="; ".join(faults[:_SHOWN]) + more)
    if not rows and not dividends and not skipped:
        raise BadCandleFile(file=path.name, reason="is empty of rows")
    return ActionFile(tuple(rows), tuple(dividends), dict(skipped))


def _text(shown: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadCandleFile(file=shown, reason="is no text in UTF-8") from error


def _check_columns(shown: str, names: Mapping[str, str]) -> None:
    is_own_format = {"kind", "ratio"} <= names.keys()
    listed = any(name in names for name in _SUBJECTS)
    if "symbol" in names and any(name in names for name in _EX_DATES) and (is_own_format or listed):
        return
    reason = (
        f"its columns are {', '.join(names) or 'none'}; wanted are symbol, ex_date, kind, ratio"
        " and source, or the exchange's symbol, ex_date and subject"
    )
    raise BadCandleFile(file=shown, reason=reason)


def _row(values: Mapping[str, str], shown: str) -> ActionRow | None:
    """Return the corporate action, None where the row changes no number of shares."""
    if values.get("kind", "").lower() == "dividend":
        return None
    change = _announced(values) if "kind" in values else _of_subject(_first(values, _SUBJECTS))
    if change is None:
        return None
    kind, ratio = change
    if not 0 < ratio.numerator <= MOST_SHARES or ratio.denominator > MOST_SHARES or ratio == 1:
        raise _InvalidRow(f"a {kind} of {ratio.numerator} shares for {ratio.denominator} is none")
    day = _ex_date(values)
    symbol, source = _symbol(values["symbol"]), values.get("source") or shown
    return ActionRow(symbol, day, kind, ratio.denominator, ratio.numerator, source[:200])


def _ex_date(values: Mapping[str, str]) -> date:
    written = _first(values, _EX_DATES)
    day = day_from(written)
    if day is None:
        raise _InvalidRow(f"ex_date {written!r} is no date")
    return day


def _dividend(values: Mapping[str, str], shown: str) -> DividendRow | None:
    """Return the dividend, None where the row names none."""
    if "kind" not in values:
        subject = _first(values, _SUBJECTS)
        amount = sum(map(Decimal, _RUPEES.findall(subject)), Decimal(0))
    elif values["kind"].lower() == "dividend":
        written = values.get("amount", "")
        if _AMOUNT.fullmatch(written) is None or not Decimal(written):
            raise _InvalidRow(f"amount {written!r} is none such as 2.50")
        amount = Decimal(written)
    else:
        return None
    if not amount:
        return None
    symbol, source = _symbol(values["symbol"]), values.get("source") or shown
    return DividendRow(symbol, _ex_date(values), amount, source[:200])


def _announced(values: Mapping[str, str]) -> tuple[str, Fraction]:
    kind, ratio = values["kind"].lower(), _RATIO.fullmatch(values["ratio"])
    if kind not in _KINDS:
        raise _InvalidRow(f"kind {values['kind']!r} is none of {', '.join(_KINDS)}")
    if ratio is None or int(ratio[2]) == 0:
        raise _InvalidRow(f"ratio {values['ratio']!r} is none such as 2:1")
    return kind, _shares(kind, int(ratio[1]), int(ratio[2]))


def _shares(kind: str, new_shares: int, old_shares: int) -> Fraction:
    """Return the new shares for one old share."""
    return Fraction(new_shares + old_shares if kind == "bonus" else new_shares, old_shares)


def _of_subject(subject: str) -> tuple[str, Fraction] | None:
    if len(subject) > _LONGEST_SUBJECT:
        raise _InvalidRow(f"its subject has more than {_LONGEST_SUBJECT} characters")
    bonus, values = _BONUS.fullmatch(subject), _FACE_VALUE.fullmatch(subject)
    if bonus is not None and int(bonus[2]):
        return "bonus", _shares("bonus", int(bonus[1]), int(bonus[2]))
    if values is None:
        return None
    before, after = (Decimal(value.strip(".")) for value in values.groups())
    if not after:
        raise _InvalidRow(f"{subject!r} has a face value of nothing")
    return "split", Fraction(before) / Fraction(after)


def _symbol(name: str) -> str:
    named = name_instrument(name)
    if not isinstance(named, InstrumentName) or named.symbol is None:
        raise _InvalidRow(f"{name!r} is no symbol")
    return named.symbol


def _first(values: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((values[name] for name in names if name in values), "")
