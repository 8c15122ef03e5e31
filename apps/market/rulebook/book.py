"""The rulebook: all files of one edition, read, checked as a whole, and looked up by date.

Questions to it stand by subject in the modules beside this one; they are pure, and a Rulebook never
changes, so their answers can be kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Final

from apps.core.errors import Code, ServiceError
from apps.market.rulebook.rows import BrokerRow, ChargeRow, CommodityRow, Fault, read_rows, twice

FILES: Final = ("charges.csv", "brokers.csv", "commodities.csv")
_BUNDLED: Final = Path(__file__).parent / "bundled"


class InvalidRulebook(ServiceError):
    """An edition that contradicts itself or cannot be read."""

    code = Code.VALIDATION_ERROR
    message = "The edition is not a rulebook:\n{faults}"

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__(faults="\n".join(map(str, faults)))
        self.faults = faults


@dataclass(frozen=True, eq=False)
class Rulebook:
    """One edition. `sha256` is of its files."""

    sha256: str
    charges: tuple[ChargeRow, ...]
    brokers: tuple[BrokerRow, ...]
    commodities: tuple[CommodityRow, ...]


def read_rulebook(files: Mapping[str, str]) -> Rulebook:
    """The edition of these texts by file name; raises InvalidRulebook with every fault."""
    faults = [Fault(file=name, line=0, message="is missing") for name in FILES if name not in files]
    charges, bad_charges = read_rows("charges.csv", files.get("charges.csv", ""), ChargeRow)
    brokers, bad_brokers = read_rows("brokers.csv", files.get("brokers.csv", ""), BrokerRow)
    goods, bad_goods = read_rows("commodities.csv", files.get("commodities.csv", ""), CommodityRow)
    if not faults:
        faults = [*bad_charges, *bad_brokers, *bad_goods]
        faults += _repeated_charges(charges) + _repeated_brokers(brokers)
        faults += _repeated_goods(goods)
    if faults:
        raise InvalidRulebook(tuple(faults))
    return Rulebook(digest(files), tuple(charges), tuple(brokers), tuple(goods))


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
def bundled() -> Rulebook:
    """The edition that ships with the service."""
    return read_rulebook(bundled_files())


def _repeated_charges(rows: list[ChargeRow]) -> list[Fault]:
    keys = {
        row.line: [
            (row.item, row.first_date, *key)
            for key in product(
                row.exchanges, row.segments, row.roots or ("",), row.products or ("",), row.sides
            )
        ]
        for row in rows
    }
    return twice("charges.csv", rows, keys)


def _repeated_brokers(rows: list[BrokerRow]) -> list[Fault]:
    keys = {
        row.line: [
            (row.broker, row.first_date, *key)
            for key in product(row.segments, row.products or ("",))
        ]
        for row in rows
    }
    return twice("brokers.csv", rows, keys)


def _repeated_goods(rows: list[CommodityRow]) -> list[Fault]:
    return twice("commodities.csv", rows, {row.line: [(row.exchange, row.root)] for row in rows})
