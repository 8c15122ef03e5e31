"""The rule set in force: the newest loaded version, else the one bundled with the service."""

from collections.abc import Iterator, Mapping
from datetime import date
from functools import lru_cache
from typing import Final

from django.db import connection

from apps.market.models import RuleSetVersion
from apps.market.rulebook.charges import DEFAULT_BROKER, rates_in_force
from apps.market.rulebook.files.rows import ChargeSegment, Exchange
from apps.market.rulebook.files.rule_set import (
    FILES,
    RuleSet,
    bundled_files,
    bundled_rule_set,
    read_rule_set,
    rows_by_file,
)
from apps.market.rulebook.sessions import MARKETS, day_of, known_years

# Written once: to have the ORM write it takes 0.2 ms, and each submission and review asks for it.
NEWEST_VERSION: Final = (
    f"SELECT sha256 FROM {RuleSetVersion._meta.db_table} ORDER BY id DESC LIMIT 1"
)
LOCK_RULEBOOK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('rulebook', 0))"


def current_rule_set() -> RuleSet:
    """Return the rule set in force, read again each time: another process may load a version."""
    with connection.cursor() as cursor:
        cursor.execute(NEWEST_VERSION)
        newest = cursor.fetchone()
    return bundled_rule_set() if newest is None else _read(newest[0])


@lru_cache(maxsize=4)
def _read(sha256: str) -> RuleSet:
    return read_rule_set(files_of(RuleSetVersion.objects.filter(sha256=sha256).first()))


def files_of(version: RuleSetVersion | None) -> Mapping[str, str]:
    """Return all files of a version; a file that it lacks is the bundled one."""
    return bundled_files() if version is None else {**bundled_files(), **version.files}


def describe_day(exchange: Exchange, day: date) -> dict[str, object]:
    """Return the sessions of an exchange on a date by the rule set in force, segment by segment."""
    rule_set = current_rule_set()
    segments = [
        {"segment": segment, "day": day_of(rule_set, exchange, segment, day)}
        for segment in MARKETS[exchange]
    ]
    return {"exchange": exchange, "date": day, "edition": rule_set.sha256, "segments": segments}


def describe_rates(
    *, exchange: Exchange, segment: ChargeSegment, day: date, broker: str = DEFAULT_BROKER
) -> dict[str, object]:
    """Return the rates of a segment on a date by the rule set in force."""
    rule_set = current_rule_set()
    return {
        "exchange": exchange,
        "segment": segment,
        "date": day,
        "broker": broker,
        "edition": rule_set.sha256,
        "rates": rates_in_force(
            rule_set, exchange=exchange, segment=segment, broker=broker, day=day
        ),
    }


def unknowns(rule_set: RuleSet, *, today: date) -> Iterator[str]:
    """Describe the gaps of a rule set: rows without a source, years without a calendar."""
    for name in FILES:
        lines = [str(row.line) for row in rows_by_file(rule_set)[name] if row.unsourced]
        if lines:
            yield f"{name}: something is unsourced in lines {', '.join(lines)}"
    for exchange, markets in MARKETS.items():
        years = known_years(rule_set, exchange, markets[0])
        for year in (today.year, today.year + 1):
            if year not in years:
                yield f"days.csv: no calendar of {exchange} for {year}"
