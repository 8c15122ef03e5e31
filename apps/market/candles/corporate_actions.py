"""Corporate actions (splits and bonuses) and dividends: importing them, and finding unknown splits.

A share may have been split when it opens at a clean ratio of its last close. Such a candidate is
for a person to look up and is never applied automatically: a share can lose half of its price in a
night without a split.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import prod
from typing import Final, TypeVar

import numpy as np
from django.db import transaction

from apps.core.times import day_number
from apps.engine import Payout
from apps.engine.candles import DAY, IST, Candles, Symbol
from apps.market.candles import reading
from apps.market.candles.adjustment import RatioChange
from apps.market.candles.bar_history import ratio_change_of
from apps.market.candles.chunks import EMPTY, overlay
from apps.market.candles.price_kinds import PriceKind, compare_with_changes
from apps.market.candles.samples import sample_ends
from apps.market.models import CandleChunk, CorporateAction, Dividend

# Shares for one: the face values 10, 5, 2 and 1 divide so, and bonuses are given so.
RATIOS: Final = tuple(
    Fraction(after, before)
    for after, before in (
        (3, 2),
        (5, 3),
        (2, 1),
        (5, 2),
        (3, 1),
        (4, 1),
        (5, 1),
        (6, 1),
        (8, 1),
        (10, 1),
        (15, 1),
        (20, 1),
        (50, 1),
        (100, 1),
        (1, 2),
        (1, 5),
        (1, 10),
        (1, 20),
    )
)
# How far from the ratio the market may open, as a share: it moves overnight too.
_TOLERANCE: Final = 0.06
# Days further apart are not consecutive: much may have happened between them.
_LONGEST_BREAK: Final = 7
_AROUND: Final = 30 * DAY


Loaded = TypeVar("Loaded", CorporateAction, Dividend)


@dataclass(frozen=True, slots=True)
class ActionRow:
    """A corporate action: `before` shares become `after` on `ex_date`.

    For rights, this holds for holders who pay `issue_price` for each new share. `price_factor`
    belongs to a demerger.
    """

    symbol: str
    ex_date: date
    kind: str
    before: int
    after: int
    source: str
    issue_price: Decimal | None = None
    price_factor: Decimal | None = None


@dataclass(frozen=True, slots=True)
class DividendRow:
    """A dividend, in rupees a share, for holders before `ex_date`."""

    symbol: str
    ex_date: date
    amount: Decimal
    source: str


@dataclass(frozen=True, slots=True)
class ActionCounts:
    """The numbers of new, changed and already known corporate actions of an import.

    `warnings` name stored series that prove no kind of prices, or another kind than was known.
    """

    added: int
    changed: int
    unchanged: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SplitCandidate:
    """On `day` (a number since 1970) the previous day's `close` seems to have become `open`."""

    day: int
    ratio: Fraction
    close: float
    open: float


@transaction.atomic
def store_actions(
    *, rows: Sequence[ActionRow], dividends: Sequence[DividendRow] = (), now: datetime
) -> ActionCounts:
    """Store corporate actions and dividends; a symbol has one of a kind on a day, and the newer one
    wins. The prices of stored series are judged again by the actions inside them: as traded, or
    adjusted.
    """
    counts = [
        _store(
            [_action_of(row, now) for row in rows],
            unique_fields=("symbol", "ex_date", "kind"),
            fields=("shares_before", "shares_after", "issue_price", "price_factor", "source"),
        ),
        _store(
            [Dividend(**asdict(row), loaded_at=now) for row in dividends],
            unique_fields=("symbol", "ex_date"),
            fields=("amount", "source"),
        ),
    ]
    return ActionCounts(
        sum(count.added for count in counts),
        sum(count.changed for count in counts),
        sum(count.unchanged for count in counts),
        tuple(judge_again({row.symbol for row in rows})),
    )


def judge_again(symbols: Collection[str]) -> Iterator[str]:
    """Store the kind of prices that the known actions prove for stored series of these symbols.

    Yield a line for each series that contradicts its known kind, or proves nothing.
    """
    changes = ratio_changes(symbols, until=date.max)
    series = CandleChunk.objects.filter(symbol__in=changes, synthetic=False).exclude(timeframe="1w")
    known = series.values_list("symbol", "timeframe", "adjusted", "prices_known").distinct()
    for symbol, timeframe, adjusted, prices_known in known.order_by("symbol", "timeframe"):
        chunks = series.filter(symbol=symbol, timeframe=timeframe, adjusted=adjusted)
        generated_until = sample_ends([symbol], timeframe).get(symbol, 0)
        real = [change for change in changes[symbol] if change.day * DAY - IST > generated_until]
        proof = compare_with_changes(_around(symbol, timeframe, real), real)
        held = PriceKind.ADJUSTED if adjusted else PriceKind.RAW
        days = ", ".join(str(np.datetime64(day, "D")) for day in (*proof.falls, *proof.level))
        if proof.kind is None and (proof.falls or (not prices_known and proof.unclear)):
            yield f"{symbol} {timeframe}: nothing tells whether its prices are adjusted"
        elif proof.kind is None or (proof.kind is held and prices_known):
            continue
        elif prices_known:
            yield f"{symbol} {timeframe}: known as {held}, but {proof.kind} by {days}"
        else:
            chunks.update(adjusted=proof.kind is PriceKind.ADJUSTED, prices_known=True)


def _around(symbol: str, timeframe: str, changes: Iterable[RatioChange]) -> Candles:
    """Return the stored bars of some days around each change."""
    pieces = [
        reading.read_bars(symbol, timeframe, start=moment - _AROUND, end=moment + _AROUND)
        for moment in sorted({change.day * DAY - IST for change in changes})
    ]
    return overlay(pieces) if pieces else EMPTY


def _action_of(row: ActionRow, now: datetime) -> CorporateAction:
    return CorporateAction(
        symbol=row.symbol,
        ex_date=row.ex_date,
        kind=row.kind,
        shares_before=row.before,
        shares_after=row.after,
        issue_price=row.issue_price,
        price_factor=row.price_factor,
        source=row.source,
        loaded_at=now,
    )


def _store(
    rows: Sequence[Loaded], unique_fields: Sequence[str], fields: Sequence[str]
) -> ActionCounts:
    if not rows:
        return ActionCounts(0, 0, 0)
    model = type(rows[0])

    def key_of(row: Loaded) -> tuple[object, ...]:
        return tuple(getattr(row, name) for name in unique_fields)

    new = {key_of(row): row for row in rows}
    stored = {
        key_of(row): row
        for row in model._default_manager.filter(symbol__in={row.symbol for row in rows})
    }
    added = [key for key in new if key not in stored]
    changed = [
        key
        for key in new
        if key in stored
        and any(getattr(new[key], name) != getattr(stored[key], name) for name in fields)
    ]
    model._default_manager.bulk_create(
        [new[key] for key in added + changed],
        update_conflicts=True,
        unique_fields=unique_fields,
        update_fields=[*fields, "loaded_at"],
    )
    return ActionCounts(len(added), len(changed), len(new) - len(added) - len(changed))


def ratio_changes(
    symbols: Collection[str], *, until: date, after: date = date.min
) -> Mapping[str, list[RatioChange]]:
    """Return the corporate actions of known effect, keyed by symbol, with ex-dates after `after`
    and up to `until`.
    """
    changes: dict[str, list[RatioChange]] = defaultdict(list)
    for action in CorporateAction.objects.filter(
        symbol__in=symbols, ex_date__gt=after, ex_date__lte=until
    ):
        if (change := ratio_change_of(action)) is not None:
            changes[action.symbol].append(change)
    return changes


def payouts_of(
    symbol: str, *, first: date, last: date, actions: Sequence[CorporateAction]
) -> tuple[Payout, ...]:
    """Return the dividends of a share with ex-dates from `first` to `last`, per share after all of
    these `actions`, because prices are adjusted for them.
    """
    if Symbol.parse(symbol).type != "equity":
        return ()
    paid = Dividend.objects.filter(symbol=symbol, ex_date__range=(first, last))
    payouts = []
    for row in paid:
        later = (action for action in actions if action.ex_date > row.ex_date)
        shares = prod((action.share_ratio for action in later), start=Fraction(1))
        payouts.append(Payout(day_number(row.ex_date), float(Fraction(row.amount) / shares)))
    return tuple(payouts)


def unknown_splits(symbol: str) -> list[SplitCandidate]:
    """Return the days on which the stored bars of a share look like an unknown split."""
    known = {
        day_number(day)
        for day in CorporateAction.objects.filter(symbol=symbol).values_list("ex_date", flat=True)
    }
    days = reading.read_bars(symbol, "1d", start=0, end=2**40)
    return [candidate for candidate in find_split_candidates(days) if candidate.day not in known]


def find_split_candidates(bars: Candles) -> list[SplitCandidate]:
    """Find the days on which bars (of a day or less) of a share look like a split."""
    day = bars.days
    last = np.flatnonzero(np.diff(day))
    close, opened = bars.close[last], bars.open[last + 1]
    fall, near = close / opened, day[last + 1] - day[last] <= _LONGEST_BREAK
    clean = np.array([float(ratio) for ratio in RATIOS])
    # In logarithms, so that two for one is as far from one for one as one for two is.
    distance = np.abs(np.log(fall)[:, None] - np.log(clean)[None, :])
    best = distance.argmin(axis=1) if len(fall) else np.empty(0, dtype=np.intp)
    matches = np.flatnonzero(near & (distance.min(axis=1, initial=np.inf) <= np.log1p(_TOLERANCE)))
    return [
        SplitCandidate(
            int(day[last[i] + 1]), RATIOS[int(best[i])], float(close[i]), float(opened[i])
        )
        for i in matches.tolist()
    ]
