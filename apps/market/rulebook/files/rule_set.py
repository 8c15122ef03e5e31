"""A rule set: all files of the rulebook in one version, read and checked as a whole.

The modules beside this one look rules up by subject and date; they are pure, and a RuleSet never
changes, so their answers can be cached.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from apps.core.errors import Code, ServiceError
from apps.market.rulebook.files import checks
from apps.market.rulebook.files.rows import (
    BrokerRow,
    ChargeRate,
    CommodityRow,
    DayRow,
    DepositoryRow,
    EtfRow,
    HoursRow,
    LotRow,
    MarginRow,
    RowType,
    RulebookFault,
    RuleRow,
    TickRow,
    read_rows,
)

_NAMES: Final[Mapping[type[RuleRow], str]] = {
    ChargeRate: "charges.csv",
    BrokerRow: "brokers.csv",
    CommodityRow: "commodities.csv",
    HoursRow: "sessions.csv",
    DayRow: "days.csv",
    TickRow: "ticks.csv",
    MarginRow: "margins.csv",
    EtfRow: "etfs.csv",
    DepositoryRow: "depository.csv",
    LotRow: "lots.csv",
}
FILES: Final = tuple(_NAMES.values())
_BUNDLED: Final = Path(__file__).parent.parent / "bundled"


class InvalidRulebook(ServiceError):
    """The files contradict each other or cannot be read."""

    code = Code.VALIDATION_ERROR
    message = "The edition is not a rulebook:\n{faults}"

    def __init__(self, faults: Iterable[RulebookFault]) -> None:
        self.faults = tuple(faults)
        super().__init__(faults="\n".join(map(str, self.faults)))


@dataclass(frozen=True, eq=False)
class RuleSet:
    """The rules of one version; `sha256` is of its files."""

    sha256: str
    charges: tuple[ChargeRate, ...]
    brokers: tuple[BrokerRow, ...]
    commodities: tuple[CommodityRow, ...]
    hours: tuple[HoursRow, ...]
    days: tuple[DayRow, ...]
    ticks: tuple[TickRow, ...]
    margins: tuple[MarginRow, ...]
    etfs: tuple[EtfRow, ...]
    depository: tuple[DepositoryRow, ...]
    lots: tuple[LotRow, ...]


def rows_by_file(rule_set: RuleSet) -> Mapping[str, tuple[RuleRow, ...]]:
    """Return the rows of each file, by its name."""
    tables = (
        rule_set.charges,
        rule_set.brokers,
        rule_set.commodities,
        rule_set.hours,
        rule_set.days,
        rule_set.ticks,
        rule_set.margins,
        rule_set.etfs,
        rule_set.depository,
        rule_set.lots,
    )
    return dict(zip(FILES, tables, strict=True))


def file_of(row: RuleRow) -> str:
    """Return the name of a row's file."""
    return _NAMES[type(row)]


class _FileReader:
    """Reads file after file and collects the faults."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files
        self.faults: list[RulebookFault] = []

    def rows(
        self,
        name: str,
        kind: type[RowType],
        check: Callable[[Iterable[RowType]], Iterable[RulebookFault]],
    ) -> tuple[RowType, ...]:
        if name not in self.files:
            self.faults.append(RulebookFault(file=name, line=0, message="is missing"))
            return ()
        rows, faults = read_rows(name, self.files[name], kind)
        self.faults += sorted([*faults, *check(rows)], key=lambda fault: fault.line)
        return tuple(rows)


def read_rule_set(files: Mapping[str, str]) -> RuleSet:
    """Read a rule set from texts by file name. Raises InvalidRulebook with every fault."""
    reader = _FileReader(files)
    charges = reader.rows("charges.csv", ChargeRate, checks.charge_faults)
    brokers = reader.rows("brokers.csv", BrokerRow, checks.broker_faults)
    commodities = reader.rows("commodities.csv", CommodityRow, checks.commodity_faults)
    hours = reader.rows("sessions.csv", HoursRow, checks.hours_faults)
    days = reader.rows("days.csv", DayRow, checks.day_faults)
    ticks = reader.rows("ticks.csv", TickRow, checks.tick_faults)
    margins = reader.rows("margins.csv", MarginRow, checks.margin_faults)
    etfs = reader.rows("etfs.csv", EtfRow, checks.etf_faults)
    depository = reader.rows("depository.csv", DepositoryRow, checks.depository_faults)
    lots = reader.rows("lots.csv", LotRow, checks.lot_faults)
    if reader.faults:
        raise InvalidRulebook(reader.faults)
    return RuleSet(
        _digest(files),
        charges,
        brokers,
        commodities,
        hours,
        days,
        ticks,
        margins,
        etfs,
        depository,
        lots,
    )


def _digest(files: Mapping[str, str]) -> str:
    """Return the SHA-256 of the files' names and texts, in hex."""
    whole = sha256()
    for name in FILES:
        whole.update(f"{name}\0{files[name]}\0".encode())
    return whole.hexdigest()


def bundled_files() -> dict[str, str]:
    """Return the texts of the rule set that ships with the service."""
    return {name: (_BUNDLED / name).read_text(encoding="utf-8") for name in FILES}


@cache
def bundled_rule_set() -> RuleSet:
    """Return the rule set that ships with the service."""
    return read_rule_set(bundled_files())
