"""Writing candles and rule sets."""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import datetime

from django.db import connection, transaction

from apps.core.errors import Code, ServiceError
from apps.engine.candles import Candles
from apps.market import candle_writer, queries, rule_sets
from apps.market.candle_writer import REAL, CandleKind, WriteCounts
from apps.market.importers import CandleImport
from apps.market.models import CandleFile, RuleSetVersion
from apps.market.rulebook.rule_set import FILES, read_rule_set


class UnknownRulebookFile(ServiceError):
    """A file that is not part of the rulebook."""

    code = Code.VALIDATION_ERROR
    message = "The rulebook has no {unknown}; its files are {known}."


def append(
    *, symbol: str, timeframe: str, candles: Candles, kind: CandleKind = REAL, now: datetime
) -> WriteCounts:
    """Do what `append_all` does, for one symbol."""
    return append_all(series={symbol: candles}, timeframe=timeframe, kind=kind, now=now)


@transaction.atomic
def append_all(
    *,
    series: Mapping[str, Candles],
    timeframe: str,
    kind: CandleKind = REAL,
    replace: Collection[str] = (),
    now: datetime,
) -> WriteCounts:
    """Merge bars into the stored ones; at a time that has a stored bar, the newer values win.

    A chunk in which nothing changes is not written, so importing a file again changes nothing. A
    symbol is generated or real as a whole: its first real bars replace its sample. The stored bars
    of the symbols of `replace` in this timeframe are dropped first. Raises RealHistoryExists,
    OtherPriceKind.
    """
    candle_writer.lock_symbols(series)
    candle_writer.compact_into_chunks(series, now=now)
    return candle_writer.merge_candles(series, timeframe, kind, replace, now=now)


def record_file(*, loaded: CandleImport, now: datetime) -> CandleFile:
    """Store the report of an imported file."""
    report = asdict(loaded.report)
    columns = {name: report.pop(name) for name in ("format", "rows", "bars")}
    return CandleFile.objects.create(
        file=loaded.file[-300:],
        sha256=loaded.sha256,
        timeframe=loaded.timeframe,
        instruments=len(loaded.instruments),
        report=report,
        loaded_at=now,
        **columns,
    )


@transaction.atomic
def load_rule_set(*, files: Mapping[str, str], source: str, now: datetime) -> RuleSetVersion | None:
    """Replace files of the rule set in force by these; return None if that changes nothing.

    Raises InvalidRulebook, UnknownRulebookFile.
    """
    unknown = sorted(files.keys() - set(FILES))
    if unknown:
        raise UnknownRulebookFile(unknown=unknown, known=list(FILES))
    with connection.cursor() as cursor:  # one load after the other: each builds on the last one
        cursor.execute(queries.LOCK_RULEBOOK)
    current = rule_sets.files_of(RuleSetVersion.objects.first())
    whole = {**current, **files}
    rule_set = read_rule_set(whole)
    if whole == current:
        return None
    return RuleSetVersion.objects.create(
        files=whole, sha256=rule_set.sha256, source=source, loaded_at=now
    )
