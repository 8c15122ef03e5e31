"""The report of an imported candle file, in lines to read."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import IST, Symbol
from apps.market.candles.corporate_actions import find_split_candidates
from apps.market.candles.price_kinds import PriceKind
from apps.market.candles.quality import JUMP, LONG_RUN, SPIKE, Quality, inspect
from apps.market.importers import CandleImport, ImportReport, InstrumentBars
from apps.market.importers.cleaner import REPAIRABLE
from apps.market.rulebook.calendars import calendar_of

_INDIA: Final = timezone(timedelta(seconds=IST))
_SHOWN: Final = 5
# Instruments of one file that are inspected; a bhavcopy has thousands, of one bar each.
MOST_INSTRUMENTS: Final = 8


def lines_of(loaded: CandleImport) -> list[str]:
    """Return the file's lines, then the lines of each instrument if there are few."""
    lines = [_title(loaded), _rows(loaded.report), *_notes(loaded.report), *_prices(loaded)]
    if len(loaded.instruments) > MOST_INSTRUMENTS:
        return [*lines, _all_of(loaded.instruments)]
    for part in loaded.instruments:
        lines += _lines_of_part(part, loaded.timeframe)
    return lines


def _title(loaded: CandleImport) -> str:
    subject = (
        f"{len(loaded.instruments)} instruments"
        if len(loaded.instruments) > 1
        else loaded.instruments[0].symbol
    )
    name_in_file = loaded.instruments[0].name_in_file if len(loaded.instruments) == 1 else ""
    named = f" as {name_in_file!r}" if name_in_file else ""
    source = f"symbol {loaded.symbol_source}{named}"
    return f"{subject} {loaded.timeframe} ({loaded.report.format}, {source})"


def _rows(report: ImportReport) -> str:
    """Return the numbers of rows by their result; the sum is the number of rows."""
    parts = [f"{report.bars} bars"]
    if report.untraded:
        parts.append(f"{report.untraded} without a trade")
    if report.repeated:
        parts.append(f"{report.repeated} repeated")
    parts += [f"{count} left out ({reason})" for reason, count in report.left_out.items()]
    return f"{report.rows} rows = {' + '.join(parts)}"


def _notes(report: ImportReport) -> list[str]:
    counted = {
        f"repaired (high or low moved, at most {report.largest_repair:.3%} of the price;"
        f" {REPAIRABLE:.1%} is refused)": report.repaired,
        "rows out of order, sorted": report.out_of_order,
        "moved to the beginning of their day or week": report.moved,
    }
    lines = [f"left out: {example}" for example in report.examples]
    lines += [f"{label}: {count}" for label, count in counted.items() if count]
    if report.shifted:
        seconds = f"{report.shifted} seconds"
        lines.append(f"stamps mark the end of a bar: moved back by {seconds} to its start")
    if report.without_volume:
        lines.append(f"without a volume, taken as 0: {report.without_volume}")
    if report.assumed_day_first:
        lines.append("dates fit day first and month first: read day first")
    if report.not_read:
        lines.append(f"columns that are not read: {', '.join(report.not_read)}")
    if report.volume != "units":
        lines.append(f"volume counts {report.volume}: the file does not say how many units one is")
    return lines


def _prices(loaded: CandleImport) -> list[str]:
    """Return lines about the prices of shares: adjusted, or of unknown adjustment."""
    # Indices are written as shares are, and have no volume.
    shares = [
        part
        for part in loaded.instruments
        if Symbol.parse(part.symbol).type == "equity" and part.candles.volume.any()
    ]
    adjusted = sum(part.prices is PriceKind.ADJUSTED for part in shares)
    unknown = sum(part.prices is None for part in shares)
    lines = []
    if adjusted:
        lines.append(
            f"prices adjusted by their source, to which no corporate action is applied: {adjusted}"
        )
    if unknown:
        lines.append(
            "prices of which no known split or bonus tells whether they are adjusted, taken as"
            f" traded: {unknown}"
        )
    return lines


def _all_of(parts: Sequence[InstrumentBars]) -> str:
    first = min(int(part.candles.time[0]) for part in parts)
    last = max(int(part.candles.time[-1]) for part in parts)
    return f"{_moment(first)} to {_moment(last)} IST"


def _lines_of_part(part: InstrumentBars, timeframe: str) -> list[str]:
    quality = inspect(part.symbol, part.candles, timeframe, calendar_of(part.symbol))
    first, last = _moment(int(part.candles.time[0])), _moment(int(part.candles.time[-1]))
    title = f"{part.symbol}: {quality.bars} bars, {len(quality.days)} days, {first} to {last} IST"
    lines = [*_lines_of_quality(quality), *_suggested(part, timeframe)]
    return [title, *(f"  {line}" for line in lines)]


def _suggested(part: InstrumentBars, timeframe: str) -> list[str]:
    """Return the days of a share that look like a split, known or not."""
    if timeframe == "1w" or Symbol.parse(part.symbol).type != "equity":
        return []
    candidates = find_split_candidates(part.candles)
    days = ", ".join(
        f"{_day(candidate.day)} ({_ratio(candidate.ratio)})" for candidate in candidates[:_SHOWN]
    )
    return (
        [f"looks like a split or bonus: {days}; see load_corporate_actions"] if candidates else []
    )


def _ratio(ratio: Fraction) -> str:
    return f"{ratio.numerator}:{ratio.denominator}"


def _lines_of_quality(quality: Quality) -> list[str]:
    counted = {
        "without volume": quality.without_volume,
        "outside the session's hours, kept": quality.off_session,
    }
    dated = {
        "sessions without a bar": quality.missing_days,
        "days with fewer bars than their session has": quality.short_days,
        "days on which the calendar has no session, kept": quality.unlisted_days,
    }
    timed = {
        f"open {JUMP:.0%} or more away from the last close": quality.jumps,
        f"closes {SPIKE:.0%} or more away from both sides": quality.spikes,
        f"runs of {LONG_RUN} or more bars without volume": quality.silent_runs,
    }
    lines = [f"{label}: {count}" for label, count in counted.items() if count]
    lines += [f"{label}: {_first(days, _day)}" for label, days in dated.items() if len(days)]
    return lines + [
        f"{label}: {_first(times, _moment)}" for label, times in timed.items() if len(times)
    ]


def _first(values: NDArray[np.int64] | NDArray[np.int32], render: Callable[[int], str]) -> str:
    """Return the number of days, and the first few of them."""
    shown = ", ".join(render(value) for value in values[:_SHOWN].tolist())
    return f"{len(values)} ({shown}{', …' if len(values) > _SHOWN else ''})"


def _day(day: int) -> str:
    return str(np.datetime64(day, "D"))


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, tz=_INDIA).strftime("%Y-%m-%d %H:%M")
