"""History on the wire."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import Candles
from apps.engine.figures.fields import round_for_wire
from apps.engine.simulation.results import wire_dates
from apps.engine.units import Unit, all_rounded
from apps.market.contract_notes import ContractNote
from apps.market.coverage import Gaps
from apps.market.models import CorporateAction
from apps.market.quality import Quality
from apps.market.rulebook.charges import Charge
from apps.market.rulebook.rows import DepositoryRow, Exchange, Market, RuleRow
from apps.market.rulebook.rule_set import RuleSet, file_of
from apps.market.rulebook.sessions import MARKETS, day_of
from apps.market.store import AdjustedCandles

# Timeframes whose candles start at midnight in India, the day before in UTC.
DATED: Final = ("1d", "1w")
# Days or times of one kind that a report of quality lists.
MOST_SHOWN: Final = 20


def candles_out(
    symbol: str, timeframe: str, priced: AdjustedCandles, *, synthetic: bool
) -> dict[str, object]:
    """Each candle as [time, open, high, low, close, volume]; `dates` are those of days and weeks,
    `synthetic` stands only where true, `adjustedFor` only where there is something.
    """
    answer: dict[str, object] = {
        "symbol": symbol,
        "timeframe": timeframe,
        "candles": _rows(priced.candles),
    }
    if timeframe in DATED:
        answer["dates"] = wire_dates(priced.candles.time)
    if priced.actions:
        answer["adjustedFor"] = [_action(each) for each in priced.actions]
    return answer | {"synthetic": True} if synthetic else answer


def _action(action: CorporateAction) -> dict[str, object]:
    return {
        "exDate": action.ex_date.isoformat(),
        "kind": action.kind,
        "ratio": action.terms,
        "source": action.source,
    }


def coverage_out(
    symbol: str,
    held: Sequence[Mapping[str, object]],
    gaps: Mapping[str, Gaps],
    timeframe: str | None,
    quality: Quality | None,
) -> dict[str, object]:
    """`quality` is that of `timeframe`, if one is asked for and has bars."""
    rows = [{**row, **_gaps(gaps.get(str(row["timeframe"])))} for row in held]
    answer: dict[str, object] = {"symbol": symbol, "timeframes": rows}
    if quality is not None:
        answer["quality"] = {"timeframe": timeframe, **_quality(quality)}
    return answer


def _gaps(found: Gaps | None) -> dict[str, object]:
    """Nothing of weeks."""
    if found is None:
        return {}
    return {
        "days": found.days,
        "missingSessions": found.missing,
        "gaps": [
            {
                "from": gap.first.isoformat(),
                "to": gap.last.isoformat(),
                "sessions": gap.sessions,
            }
            for gap in found.gaps
        ],
        "uncheckedYears": list(found.unchecked),
    }


def _quality(found: Quality) -> dict[str, object]:
    return {
        "bars": found.bars,
        "days": len(found.days),
        "barsWithoutVolume": found.without_volume,
        "barsOutsideHours": found.off_session,
        "missingSessions": _first(found.missing_days, "D"),
        "shortDays": _first(found.short_days, "D"),
        "daysWithoutSession": _first(found.unlisted_days, "D"),
        "jumps": _first(found.jumps, "s"),
        "spikes": _first(found.spikes, "s"),
        "runsWithoutVolume": _first(found.silent_runs, "s"),
    }


def _first(values: NDArray[np.int64] | NDArray[np.int32], unit: Literal["D", "s"]) -> object:
    """How many, and the first of them, as dates or as times."""
    shown = values[:MOST_SHOWN].astype(f"M8[{unit}]")
    texts = shown.astype(str) if unit == "D" else np.datetime_as_string(shown, "ms", timezone="UTC")
    return {"count": len(values), "first": texts.tolist()}


def _rows(candles: Candles) -> list[tuple[object, ...]]:
    stamps = np.datetime_as_string(candles.time.astype("M8[s]"), unit="ms", timezone="UTC")
    volume = candles.volume
    is_whole = (volume == np.rint(volume)).all()
    volumes = volume.astype(np.int64).tolist() if is_whole else all_rounded(volume, Unit.QUANTITY)
    prices = (candles.open, candles.high, candles.low, candles.close)
    columns = (all_rounded(column, Unit.PRICE) for column in prices)
    return list(zip(stamps.tolist(), *columns, volumes, strict=True))


def sessions_out(rule_set: RuleSet, exchange: Exchange, day: date) -> dict[str, object]:
    """Each market of the exchange: what it does that day, and why."""
    return {
        "exchange": exchange,
        "date": day.isoformat(),
        "edition": rule_set.sha256,
        "segments": [_segment_out(rule_set, exchange, market, day) for market in MARKETS[exchange]],
    }


def _segment_out(
    rule_set: RuleSet, exchange: Exchange, market: Market, day: date
) -> dict[str, object]:
    found = day_of(rule_set, exchange, market, day)
    phases = [
        {"phase": phase, "opens": f"{opens:%H:%M}", "closes": f"{closes:%H:%M}"}
        for phase, opens, closes in found.phases
    ]
    return {
        "segment": market,
        "session": found.kind,
        "name": found.name,
        "phases": phases,
        "sources": [_source_out(row) for row in found.rows],
    }


def note_out(note: ContractNote) -> dict[str, object]:
    """A virtual contract note, each item as it is and as it is paid."""
    return dict(
        round_for_wire(
            {
                "symbol": note.symbol,
                "date": note.day.isoformat(),
                "side": note.side,
                "quantity": note.quantity,
                "price": float(note.price),
                "multiplier": float(note.multiplier),
                "value": float(note.value),
                "segment": note.basis.segment,
                "instrument": note.basis.instrument,
                "product": note.basis.product,
                "broker": note.basis.broker,
                "edition": note.rule_set,
                "charges": [_charge_out(charge) for charge in note.charges.charges],
                "total": float(note.charges.total),
                "unknown": list(note.charges.unknown),
            }
        )
    )


def _charge_out(charge: Charge) -> dict[str, object]:
    return {
        "item": charge.item,
        "percent": 0.0 if isinstance(charge.row, DepositoryRow) else float(charge.row.percent),
        "amount": float(charge.amount),
        "rounded": float(charge.rounded),
        "since": charge.row.first_date.isoformat(),
        **_source_out(charge.row),
    }


def _source_out(row: RuleRow) -> dict[str, object]:
    """Where a row stands and where it is from; `unsourced` says what of it has no source."""
    return {
        "row": f"{file_of(row)}:{row.line}",
        "source": row.source,
        "unsourced": row.unsourced,
    }
