"""Checks of the rows of one file against each other: repeats, overlaps and gaps."""

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from itertools import groupby, pairwise, product
from typing import get_args

from apps.market.rulebook.files.rows import (
    BrokerRow,
    ChargeRate,
    CommodityRow,
    ContractCycle,
    DayRow,
    DepositoryRow,
    EtfRow,
    HoursRow,
    LotRow,
    MarginRow,
    RowType,
    RulebookFault,
    TickRow,
)

_ANY = ("",)
_CYCLES = get_args(ContractCycle)


def charge_faults(rows: Iterable[ChargeRate]) -> Iterator[RulebookFault]:
    def keys(row: ChargeRate) -> Iterable[object]:
        roots, products = row.roots or _ANY, row.products or _ANY
        scopes = product(row.exchanges, row.segments, roots, products, row.sides)
        return [(row.item, row.first_date, *scope) for scope in scopes]

    return _repeated("charges.csv", rows, keys)


def broker_faults(rows: Iterable[BrokerRow]) -> Iterator[RulebookFault]:
    def keys(row: BrokerRow) -> Iterable[object]:
        scopes = product(row.segments, row.products or _ANY)
        return [(row.broker, row.first_date, *scope) for scope in scopes]

    return _repeated("brokers.csv", rows, keys)


def depository_faults(rows: Iterable[DepositoryRow]) -> Iterator[RulebookFault]:
    return _repeated("depository.csv", rows, lambda row: [(row.broker, row.first_date)])


def etf_faults(rows: Iterable[EtfRow]) -> Iterator[RulebookFault]:
    return _repeated(
        "etfs.csv", rows, lambda row: [(exchange, row.root) for exchange in row.exchanges]
    )


def commodity_faults(rows: Iterable[CommodityRow]) -> Iterator[RulebookFault]:
    return _repeated("commodities.csv", rows, lambda row: [(row.exchange, row.root)])


def tick_faults(rows: Iterable[TickRow]) -> Iterator[RulebookFault]:
    return _repeated(
        "ticks.csv",
        rows,
        lambda row: [
            (row.first_date, row.below, *scope) for scope in product(row.exchanges, row.kinds)
        ],
    )


def margin_faults(rows: Iterable[MarginRow]) -> Iterator[RulebookFault]:
    return _repeated(
        "margins.csv",
        rows,
        lambda row: [(row.first_date, *scope) for scope in product(row.exchanges, row.kinds)],
    )


def lot_faults(rows: Iterable[LotRow]) -> Iterator[RulebookFault]:
    return _repeated(
        "lots.csv",
        rows,
        lambda row: [
            (row.first_expiry, *scope)
            for scope in product(row.exchanges, row.roots, row.cycles or _CYCLES)
        ],
    )


def hours_faults(rows: Iterable[HoursRow]) -> Iterator[RulebookFault]:
    """Find rows of one exchange, market and phase that do not follow one another day by day."""
    placed = [
        (scope, row) for row in rows for scope in product(row.exchanges, row.markets, (row.phase,))
    ]
    placed.sort(key=lambda pair: (pair[0], pair[1].first_date))
    reported: set[int] = set()
    for scope, group in groupby(placed, key=lambda pair: pair[0]):
        for before, after in pairwise(row for _, row in group):
            message = _succession(before, after)
            if message and after.line not in reported:
                reported.add(after.line)
                label = " ".join(scope)
                yield RulebookFault(
                    file="sessions.csv", line=after.line, message=f"{message} ({label})"
                )


def _succession(before: HoursRow, after: HoursRow) -> str | None:
    if before.last_date is None or before.last_date >= after.first_date:
        return f"overlaps line {before.line}"
    if before.last_date + timedelta(days=1) < after.first_date:
        return f"leaves a gap after line {before.line}, which ends on {before.last_date}"
    return None


def day_faults(rows: Iterable[DayRow]) -> Iterator[RulebookFault]:
    """Find rows of one date that are not the parts of one special session."""
    seen: dict[object, DayRow] = {}
    for row in sorted(rows, key=lambda row: (row.day, row.opens is not None, row.opens)):
        for scope in product(row.exchanges, row.markets or _ANY, (row.day,)):
            earlier = seen.get(scope)
            seen[scope] = row
            if earlier is not None and not _follow_one_another(earlier, row):
                message = f"contradicts or repeats line {earlier.line} on {row.day}"
                yield RulebookFault(file="days.csv", line=row.line, message=message)
                break


def _follow_one_another(first: DayRow, second: DayRow) -> bool:
    if first.closes is None or second.opens is None:
        return False
    return first.closes <= second.opens


def _repeated(
    name: str, rows: Iterable[RowType], keys: Callable[[RowType], Iterable[object]]
) -> Iterator[RulebookFault]:
    """Find rows that repeat an earlier one."""
    seen: dict[object, int] = {}
    for row in rows:
        own = list(keys(row))
        earlier = [seen[key] for key in own if key in seen]
        if earlier:
            yield RulebookFault(file=name, line=row.line, message=f"repeats line {min(earlier)}")
        seen.update((key, row.line) for key in own if key not in seen)
