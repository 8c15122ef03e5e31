"""The rulebook: all files of one edition, read, checked as a whole, and looked up by date.

Questions to it stand by subject in the modules beside this one; they are pure, and a Rulebook never
changes, so their answers can be kept.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

from apps.core.errors import Code, ServiceError
from apps.market.rulebook import checks
from apps.market.rulebook.rows import (
    BrokerRow,
    ChargeRate,
    CommodityRow,
    DayRow,
    DepositoryRow,
    EtfRow,
    HoursRow,
    MarginRow,
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
}
FILES: Final = tuple(_NAMES.values())
_BUNDLED: Final = Path(__file__).parent / "bundled"

RowType = TypeVar("RowType", bound=RuleRow)


class InvalidRulebook(ServiceError):
    """An edition that contradicts itself or cannot be read."""

    code = Code.VALIDATION_ERROR
    message = "The edition is not a rulebook:\n{faults}"

    def __init__(self, faults: Iterable[RulebookFault]) -> None:
        self.faults = tuple(faults)
        super().__init__(faults="\n".join(map(str, self.faults)))


@dataclass(frozen=True, eq=False)
class RuleSet:
    """One edition. `sha256` is of its files."""

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


def rows_by_file(rule_set: RuleSet) -> Mapping[str, tuple[RuleRow, ...]]:
    """Return the rows of each file, by its name."""
    tables = (
        rule_set.charges, rule_set.brokers, rule_set.commodities, rule_set.hours, rule_set.days,
        rule_set.ticks, rule_set.margins, rule_set.etfs, rule_set.depository,
    )  # fmt: skip
    return dict(zip(FILES, tables, strict=True))


def file_of(row: RuleRow) -> str:
    """The file a row is of."""
    return _NAMES[type(row)]


class _FileReader:
    """Reads file after file and gathers what is wrong."""

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
    """The edition of these texts by file name; raises InvalidRulebook with every fault."""
    read = _FileReader(files)
    charges = read.rows("charges.csv", ChargeRate, checks.charge_faults)
    brokers = read.rows("brokers.csv", BrokerRow, checks.broker_faults)
    goods = read.rows("commodities.csv", CommodityRow, checks.commodity_faults)
    hours = read.rows("sessions.csv", HoursRow, checks.hours_faults)
    days = read.rows("days.csv", DayRow, checks.day_faults)
    ticks = read.rows("ticks.csv", TickRow, checks.tick_faults)
    margins = read.rows("margins.csv", MarginRow, checks.margin_faults)
    etfs = read.rows("etfs.csv", EtfRow, checks.etf_faults)
    depository = read.rows("depository.csv", DepositoryRow, checks.depository_faults)
    if read.faults:
        raise InvalidRulebook(read.faults)
    return RuleSet(
        digest(files), charges, brokers, goods, hours, days, ticks, margins, etfs, depository
    )


def digest(files: Mapping[str, str]) -> str:
    """SHA-256 of the files' names and texts, in hex."""
    whole = sha256()
    for name in FILES:
        whole.update(f"{name}\0{files[name]}\0".encode())
    return whole.hexdigest()


def bundled_files() -> dict[str, str]:
    """The edition that ships with the service, as texts."""
    return {name: (_BUNDLED / name).read_text(encoding="utf-8") for name in FILES}


@cache
def bundled_rule_set() -> RuleSet:
    """The edition that ships with the service."""
    return read_rule_set(bundled_files())
