"""The rules again, in slow plain Python: without NumPy, Numba or any code of the kernel.

It shares the kernel's codes, the names of reasons and the fields of a plan, and nothing else. Read
it beside the README of the engine: each block is one sentence of it. Arithmetic follows the
kernel's order, because results must be equal to the last bit, not close.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, floor, inf, isnan, nan
from typing import NamedTuple

from apps.engine.kernel import codes as c
from apps.engine.kernel.reasons import REJECTIONS
from apps.engine.kernel.records import Plan

DUST = 1e-6
"""What binary fractions may owe of a bound in rupees that decimals meet."""


class Bar(NamedTuple):
    open: float
    high: float
    low: float
    close: float


class Contract(NamedTuple):
    lot: float
    multiplier: float
    margin: float
    tick: float  # ten-thousandths of a rupee
    segment: int


class Rate(NamedTuple):
    segment: int
    first_day: int
    brokerage: float
    brokerage_cap: float
    tax_buy: float
    tax_sell: float
    exchange: float
    ipft: float
    regulator: float
    stamp_buy: float
    gst: float
    brokerage_flat: float
    depository: float


class Ranges(NamedTuple):
    """The average true ranges at the signal's bar."""

    size: float = 0.0
    stop: float = 0.0
    target: float = 0.0
    trail: float = 0.0
    distance: float = 0.0


class Seen(NamedTuple):
    """The inputs of one symbol in one row."""

    bar: Bar
    signal: int
    ranges: Ranges
    flag: int
    short_margin: float = 0.0
    volume: float = 0.0
    levels: tuple[float, ...] = (nan,) * 7  # stop, target, trail, each long and short; share
    rank: int = 0  # in the ranking of the row; 0 without a ranking


@dataclass
class Held:
    """An open position."""

    side: int
    entry_time: int
    entry_day: int
    ranges: Ranges
    extreme: float
    quantity: float = 0.0
    average: float = 0.0
    locked: float = 0.0
    charges: float = 0.0
    entries: int = 0
    last_fill: float = nan
    stop_level: float = nan
    target_level: float = nan
    share: float = nan
    steps: list[float] = field(default_factory=list)  # levels
    taken: int = 0
    parts: list[tuple[float, float, float]] = field(default_factory=list)  # quantity, price, gross
    delivered_on: int = -1  # the day of the last depository charge
    moves_stop: bool = False  # at the end of the bar
    bars: int = 0
    stop: float = nan
    target: float = nan
    trailed: bool = False
    close: float = nan
    time: int = 0
    day: int = 0
    was_locked: bool = False  # its last bar was, on the side of its exit
    waits: bool = False  # an exit could not be made in its last bar
    overdue: int = c.OPEN  # why it leaves as soon as it can

    def better(self, a: float, b: float) -> bool:
        """Return whether `a` is the better price to have reached, or the tighter stop."""
        return a > b if self.side > 0 else a < b


@dataclass
class Exit:
    reason: int
    price: float


@dataclass
class ReferenceImplementation:
    cash: float
    plan: Plan
    contracts: list[Contract]
    rates: list[Rate]
    squaring: bool
    held: dict[int, Held] = field(default_factory=dict)
    waiting: dict[int, int] = field(default_factory=dict)  # signal by symbol
    ranges: dict[int, Ranges] = field(default_factory=dict)  # of the entries that wait
    levels: dict[int, tuple[float, ...]] = field(default_factory=dict)  # likewise
    adding: set[int] = field(default_factory=set)  # symbols with a waiting add by distance
    trades: list[tuple[float, ...]] = field(default_factory=list)
    curve: list[float] = field(default_factory=list)
    prices: dict[int, float] = field(default_factory=dict)  # of limit and stop orders
    places: dict[int, int] = field(default_factory=dict)  # of the entries that wait
    inside: set[int] = field(default_factory=set)  # symbols filled inside the bar of this row
    rejected: dict[str, int] = field(default_factory=dict)
    reduced: dict[str, int] = field(default_factory=dict)
    waited: list[int] = field(default_factory=lambda: [0, 0])  # exits, and their bars in all
    paid: list[float] = field(default_factory=lambda: [0.0] * 8)  # paise by kind of charge
    fills: list[tuple[object, ...]] = field(default_factory=list)
    refusals: list[tuple[int, ...]] = field(default_factory=list)  # time, symbol, reason, side
    short_margins: dict[int, float] = field(default_factory=dict)  # of the row
    asked: dict[int, int] = field(default_factory=dict)  # why a symbol is closed at its next open
    blocked: str | None = None
    day: int = -1
    halted: str | None = None  # the limit of the day that was reached
    opened: list[int] = field(default_factory=list)  # the symbols of the positions of the day
    cooling: dict[int, int] = field(default_factory=dict)  # bars, the current one included
    ruined: bool = False

    def __post_init__(self) -> None:
        self.equity = self.day_start = self.cash

    def row(self, time: int, day: int, seen: Mapping[int, Seen]) -> None:
        if self.ruined:
            return
        day_begins = day != self.day
        if day_begins:
            self.day, self.day_start, self.halted = day, self.equity, None
            self.opened = []
        self.drop_entries(time, day_begins=day_begins)
        self.short_margins = {s: of_symbol.short_margin for s, of_symbol in seen.items()}
        self.cooling = {s: left - (s in seen) for s, left in self.cooling.items()}
        for s in self.held_in(seen):
            self.exit_at_open(s, time, seen[s])
        for s in sorted(
            (self.waiting.keys() | self.adding) & seen.keys(),
            key=lambda s: (self.places.get(s, 0), s),
        ):
            self.try_entry(s, time, seen)
        for s in self.held_in(seen):
            self.live_through(s, time, seen[s])
        self.equity = self.marked()
        self.curve.append(self.equity)
        if not self.halted and self.day_start - self.equity >= self.plan.max_daily_loss - DUST:
            self.halt(time, "daily_loss_limit", c.BY_DAILY_LOSS)
        if not self.halted and self.equity - self.day_start >= self.plan.max_daily_profit - DUST:
            self.halt(time, "daily_profit_limit", c.BY_DAILY_PROFIT)
        for s in sorted(seen):
            self.read(s, seen[s], time)
        for s in self.held_in(seen):
            self.look_for_add(s, seen[s].bar.close)
        self.ruined = self.equity <= 0

    def drop_entries(self, time: int, *, day_begins: bool) -> None:
        """Drop entries that wait while entries are blocked, or after their session."""
        for s in sorted(self.waiting):
            self.waiting[s] = self.without_entry(s, self.waiting[s], time)
        if self.blocked:
            self.adding.clear()
        if day_begins and self.plan.within_session:
            self.drop_waiting("after_session", time)

    def held_in(self, seen: Mapping[int, Seen]) -> list[int]:
        return sorted(self.held.keys() & seen.keys())

    def finish(self) -> None:
        for s in sorted(self.held):
            self.settle(s, c.BY_END_OF_DATA)
        self.ruined = self.equity <= 0

    def settle(self, s: int, reason: int, price: float = nan, tax: float = 0.0) -> None:
        """Close a symbol at a price, by default its last close, and drop its waiting orders.

        An expiry costs brokerage with GST, if it is worth anything, and a tax that the long side
        pays.
        """
        if s in self.held:
            held = self.held[s]
            at = held.close if isnan(price) else price
            items = None
            if reason == c.BY_EXPIRY:
                value = held.quantity * at * self.contracts[s].multiplier
                items = [0.0] * 8
                begun = [
                    r
                    for r in self.rates
                    if r.segment == self.contracts[s].segment and r.first_day <= held.day
                ]
                if begun and value > 0:
                    rate = begun[-1]
                    items[0] = rate.brokerage_flat + min(rate.brokerage * value, rate.brokerage_cap)
                    items[6] = rate.gst * items[0]
                items[1] = tax * value if held.side > 0 else 0.0
                items = [floor(item * 100 + 0.5 + 1e-9) * 1.0 for item in items]
            self.leave(s, Exit(reason, at), held.time, held.day, items)
        self.waiting.pop(s, None)
        self.adding.discard(s)
        self.equity = self.marked()

    def marked(self) -> float:
        return self.cash + in_order(self.worth(s, self.held[s].close) for s in sorted(self.held))

    # From the outside.

    def bar(self, reason: str | None) -> None:
        self.blocked = reason

    def close(self, s: int, reason: int) -> None:
        """Close the position in a symbol at its next open."""
        if s in self.held:
            self.waiting[s] = self.waiting.get(s, 0) | c.FLATTEN
            self.asked[s] = reason

    # The close of a row.

    def halt(self, time: int, limit: str, reason: int) -> None:
        """At a limit of the day, close all positions and drop every waiting entry."""
        self.halted = limit
        self.drop_waiting(limit, time)
        for s in self.held:
            self.close(s, reason)

    def read(self, s: int, seen: Seen, time: int) -> None:
        """Read a signal known at this close, which trades in the symbol's next bar."""
        signal = seen.signal
        held = self.held.get(s)
        if held is None or held.side < 0:
            signal &= ~c.CLOSE_LONG
        if held is None or held.side > 0:
            signal &= ~c.CLOSE_SHORT
        pairs = (c.ENTER, c.ENTER_LONG | c.EXIT_LONG, c.ENTER_SHORT | c.EXIT_SHORT)
        if any(signal & pair == pair for pair in pairs):
            self.reject("both_sides", s, signal, time)
            signal &= ~(c.ENTER | c.EXIT_LONG | c.EXIT_SHORT)
        if self.halted:
            signal = self.dropped(self.halted, s, signal, time)
        signal = self.without_entry(s, signal, time)
        if self.plan.within_session and seen.flag & c.LAST_OF_SESSION:
            signal = self.dropped("after_session", s, signal, time)
        if held and not self.plan.reverse:  # the opposite is ignored
            signal &= ~(c.ENTER_SHORT if held.side > 0 else c.ENTER_LONG)
        if signal:
            self.waiting[s] = self.waiting.get(s, 0) | signal
        if signal & c.ENTER:
            self.ranges[s], self.levels[s] = seen.ranges, seen.levels
            self.places[s] = seen.rank
            if self.plan.order_by != c.AT_MARKET:
                self.prices[s] = self.order_price(s, bool(signal & c.ENTER_LONG), seen.bar.close)

    def look_for_add(self, s: int, close: float) -> None:
        """Make an add wait if this close is far enough from the last fill."""
        plan, held = self.plan, self.held[s]
        if not self.adds_by_distance or self.halted or self.blocked:
            return
        if held.entries >= plan.max_entries or held.taken or self.leaves_at_open(s):
            return
        distance = plan.add_rate * held.last_fill + plan.add_points
        distance += plan.add_atr * held.ranges.distance
        if (close - held.last_fill) * held.side * plan.add_direction >= distance - DUST:
            self.adding.add(s)
            if plan.order_by != c.AT_MARKET:
                self.prices[s] = self.order_price(s, held.side > 0, close)

    @property
    def adds_by_distance(self) -> bool:
        return self.plan.add_direction != 0

    def leaves_at_open(self, s: int) -> bool:
        """Return whether the position is already known to leave, at the next open it can."""
        held, signal = self.held[s], self.waiting.get(s, 0)
        closing = c.FLATTEN
        closing |= c.CLOSE_LONG | c.EXIT_LONG if held.side > 0 else c.CLOSE_SHORT | c.EXIT_SHORT
        if self.plan.reverse:
            closing |= c.ENTER_SHORT if held.side > 0 else c.ENTER_LONG
        return bool(held.overdue or signal & closing)

    def order_price(self, s: int, long: bool, close: float) -> float:
        """Return the price of the order: a limit buys below and sells above, a stop the other way
        round.
        """
        if long == (self.plan.order_by == c.AT_LIMIT):
            return self.away_from(s, close * (1 - self.plan.order_offset), down=True)
        return self.away_from(s, close * (1 + self.plan.order_offset), down=False)

    def without_entry(self, s: int, signal: int, time: int) -> int:
        """Remove the entry from a signal while entries are blocked; a reversal still closes."""
        if not self.blocked or not signal & c.ENTER:
            return signal
        held, long = self.held.get(s), bool(signal & c.ENTER_LONG)
        if not self.ignores(s, signal):
            if held and long != (held.side > 0):
                signal |= c.EXIT_SHORT if long else c.EXIT_LONG
            self.reject(self.blocked, s, signal, time)
        return signal & ~c.ENTER

    def drop_waiting(self, reason: str, time: int) -> None:
        self.adding.clear()
        for s in sorted(self.waiting):
            self.waiting[s] = self.dropped(reason, s, self.waiting[s], time)

    def dropped(self, reason: str, s: int, signal: int, time: int) -> int:
        """Remove the entry from a signal, and reject it unless the position ignores it."""
        if signal & c.ENTER and not self.ignores(s, signal):
            self.reject(reason, s, signal, time)
        return signal & ~c.ENTER

    def ignores(self, s: int, signal: int) -> bool:
        """Return whether a position ignores this entry: it has no add left, or by choice."""
        held = self.held.get(s)
        if not held:
            return False
        if bool(signal & c.ENTER_LONG) == (held.side > 0):
            full = held.entries >= self.plan.max_entries or held.taken > 0
            return self.adds_by_distance or full
        return not self.plan.reverse

    def reject(self, reason: str, s: int, signal: int, time: int) -> None:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1
        side = bool(signal & c.ENTER_LONG) - bool(signal & c.ENTER_SHORT)
        self.refusals.append((time, s, REJECTIONS.index(reason), side))

    # Exits.

    def exit_at_open(self, s: int, time: int, seen: Seen) -> None:
        held = self.held[s]
        late = self.squaring and held.day != self.day  # left open by a session without a last bar
        if late and not held.was_locked:
            self.leave(
                s, Exit(c.BY_SQUARE_OFF, self.slipped(held, held.close)), held.time, held.day
            )
            if s in self.cooling:
                self.cooling[s] -= 1  # it left in the bar before
            return
        held.was_locked = False
        exit_ = self.exit_of_open(s, held, seen, late=late)
        if exit_ and cannot_leave(held, seen):
            self.wait(held, exit_)
            return
        held.waits = False
        can_step = not late and not cannot_leave(held, seen)
        if can_step and (not exit_ or exit_.reason == c.BY_TARGET):
            self.take_steps(s, time, seen.bar.open, at=seen.bar.open)
        if exit_:
            self.leave(s, exit_, time, self.day)

    def take_steps(self, s: int, time: int, best: float, at: float | None = None) -> None:
        """Close the parts whose levels prices have reached, at their levels or `at` an open."""
        held, plan, lot = self.held[s], self.plan, self.contracts[s].lot
        whole = held.quantity + sum(quantity for quantity, _, _ in held.parts)
        while held.taken < plan.steps:
            level = held.steps[held.taken]
            is_reached = best >= level if held.side > 0 else best <= level
            is_first = isnan(held.target) or held.better(held.target, level)
            if not is_reached or not is_first:
                break
            held.moves_stop |= bool(plan.step_moves_stop[held.taken])
            quantity = floor(whole / lot * plan.step_percent[held.taken] / 100 + 1e-9) * lot
            held.taken += 1
            if 0 < quantity < held.quantity:
                self.reduce(s, quantity, level if at is None else at, time)

    def reduce(self, s: int, quantity: float, price: float, time: int) -> None:
        """Close a part of a position."""
        held, multiplier = self.held[s], self.contracts[s].multiplier
        items = self.charges_of_exit(s, quantity * price * multiplier, self.day)
        held.delivered_on = self.day
        fee = self.pay(items)
        self.tell(time, s, -held.side, Exit(c.BY_STEP, price), quantity, items)
        gross = held.side * quantity * multiplier * (price - held.average)
        freed = held.locked * (quantity / held.quantity)
        self.cash += freed + gross - fee
        held.locked -= freed
        held.quantity -= quantity
        held.charges += fee
        held.parts.append((quantity, price, gross))

    def charges_of_exit(self, s: int, value: float, day: int) -> list[float]:
        held = self.held[s]
        delivers = held.side > 0 and held.entry_day < day and held.delivered_on != day
        return self.charges(s, value, held.side < 0, day, delivers=delivers)

    def wait(self, held: Held, exit_: Exit) -> None:
        """Make exits wait at a locked price: a target stays an order, all others leave when
        possible.
        """
        self.waited[0] += not held.waits
        self.waited[1] += 1
        held.waits = True
        if exit_.reason != c.BY_TARGET:
            held.overdue = exit_.reason

    def exit_of_open(self, s: int, held: Held, seen: Seen, *, late: bool) -> Exit | None:
        signal, price = self.waiting.get(s, 0), seen.bar.open
        long = held.side > 0
        reason = c.OPEN
        if held.overdue:
            reason = held.overdue
        elif signal & (c.CLOSE_LONG if long else c.CLOSE_SHORT):
            reason = c.BY_SIGNAL
        elif signal & (c.EXIT_LONG if long else c.EXIT_SHORT) or (
            self.plan.reverse and signal & (c.ENTER_SHORT if long else c.ENTER_LONG)
        ):
            reason = c.BY_OPPOSITE
        elif signal & c.FLATTEN:
            reason = self.asked[s]
        elif seen.flag & c.AFTER_SQUARE_OFF:
            reason = squared_off(seen)
        elif self.plan.max_holding and held.bars >= self.plan.max_holding:
            reason = c.BY_HOLDING
        elif price <= held.stop if long else price >= held.stop:
            reason = c.BY_TRAIL if held.trailed else c.BY_STOP
        elif price >= held.target if long else price <= held.target:
            return Exit(c.BY_TARGET, price)
        elif late:
            reason = c.BY_SQUARE_OFF
        return None if reason == c.OPEN else Exit(reason, self.slipped(held, price))

    def live_through(self, s: int, time: int, seen: Seen) -> None:
        """Check an open position in one bar: stop, then target, then the session's end,
        then trail.
        """
        held, bar = self.held[s], seen.bar
        held.bars += 1
        inside = s in self.inside
        self.inside.discard(s)
        exit_ = self.exit_of_rest(s, seen) if inside else self.exit_of_bar(s, seen)
        held.was_locked = cannot_leave(held, seen)
        is_stopped = exit_ and exit_.reason in (c.BY_STOP, c.BY_TRAIL)
        if not held.was_locked and not is_stopped:
            best = bar.close if inside else bar.high if held.side > 0 else bar.low
            self.take_steps(s, time, best)
        if exit_ and not held.was_locked:
            self.leave(s, exit_, time, self.day)
            return
        if exit_ and not held.waits:
            self.wait(held, exit_)
        held.close, held.time, held.day = bar.close, time, self.day
        fill = held.extreme  # of a new position; an add was there for the whole bar
        at_level = seen.levels[c.TRAIL_LEVEL + (held.side < 0)]
        moved = Bar(fill, fill, fill, fill) if inside and held.bars == 1 else bar
        self.trail(s, held, moved, at_level)
        if held.moves_stop:
            held.moves_stop = False
            level = self.away_from(s, held.average, down=held.side > 0)
            if not held.better(held.stop, level):
                held.stop, held.trailed = level, False

    def exit_of_bar(self, s: int, seen: Seen) -> Exit | None:
        held, bar = self.held[s], seen.bar
        long = held.side > 0
        if bar.low <= held.stop if long else bar.high >= held.stop:
            return self.stopped(held, bar.open)
        if bar.high >= held.target if long else bar.low <= held.target:
            return Exit(c.BY_TARGET, held.target)
        return self.end_of_session(held, seen)

    def exit_of_rest(self, s: int, seen: Seen) -> Exit | None:
        """Return the exit in the bar in which an order was filled on the way.

        Its stop is met at its own level, and its target if the bar closed at or beyond it.
        """
        held, bar = self.held[s], seen.bar
        long = held.side > 0
        if bar.low <= held.stop if long else bar.high >= held.stop:
            return self.stopped(held, self.prices[s])
        if bar.close >= held.target if long else bar.close <= held.target:
            return Exit(c.BY_TARGET, held.target)
        return self.end_of_session(held, seen)

    def stopped(self, held: Held, first: float) -> Exit:
        """Exit at the stop, or at the position's first price in the bar if that is worse."""
        level = min(first, held.stop) if held.side > 0 else max(first, held.stop)
        return Exit(c.BY_TRAIL if held.trailed else c.BY_STOP, self.slipped(held, level))

    def end_of_session(self, held: Held, seen: Seen) -> Exit | None:
        if not seen.flag & c.LAST_OF_SESSION:
            return None
        return Exit(squared_off(seen), self.slipped(held, seen.bar.close))

    def trail(self, s: int, held: Held, bar: Bar, at_level: float) -> None:
        plan = self.plan
        by_distance = plan.trail_rate or plan.trail_points or plan.trail_atr
        if not by_distance and not plan.trails_at_level:
            return
        best = bar.high if held.side > 0 else bar.low
        if held.better(best, held.extreme):
            held.extreme = best
        if (held.extreme - held.average) * held.side < plan.trail_from * held.average - DUST:
            return
        distance = plan.trail_rate * held.extreme + plan.trail_points
        distance += plan.trail_atr * held.ranges.trail
        level = held.extreme - held.side * distance
        if plan.trails_at_level:
            if isnan(at_level):
                return
            level = at_level
        level = self.away_from(s, level, down=held.side > 0)
        if isnan(held.stop) or held.better(level, held.stop):
            held.stop, held.trailed = level, True

    def slipped(self, held: Held, price: float) -> float:
        return price * (1 - held.side * self.plan.slippage)

    def leave(
        self, s: int, exit_: Exit, time: int, day: int, items: list[float] | None = None
    ) -> None:
        """Close the position; `items` are the charges if they are not those of an order."""
        held, multiplier = self.held[s], self.contracts[s].multiplier
        items = items or self.charges_of_exit(s, held.quantity * exit_.price * multiplier, day)
        self.held.pop(s)
        fee = self.pay(items)
        self.tell(time, s, -held.side, exit_, held.quantity, items)
        gross = held.side * held.quantity * multiplier * (exit_.price - held.average)
        self.cash += held.locked + gross - fee
        whole, price = held.quantity, exit_.price
        if held.parts:
            sold = in_order(quantity for quantity, _, _ in held.parts)
            value = in_order(quantity * at for quantity, at, _ in held.parts)
            whole = sold + held.quantity
            price = (value + held.quantity * exit_.price) / whole
            gross = in_order(of_part for _, _, of_part in held.parts) + gross
        self.trades.append(
            (
                held.entry_time,
                time,
                s,
                held.bars,
                held.side,
                exit_.reason,
                whole,
                held.average,
                price,
                held.average * whole * multiplier,
                gross,
                held.charges + fee,
            )
        )
        lost = gross - (held.charges + fee) < -DUST
        if self.plan.cooldown and (lost or not self.plan.cools_after_loss):
            self.cooling[s] = self.plan.cooldown + 1

    # Entries.

    def try_entry(self, s: int, time: int, seen: Mapping[int, Seen]) -> None:
        signal, adds = self.waiting.pop(s, 0), s in self.adding
        self.adding.discard(s)
        held = self.held.get(s)
        if held and adds and not held.waits:
            signal = c.ENTER_LONG if held.side > 0 else c.ENTER_SHORT
            rejection = self.enter(s, held.side, time, seen, adds=True)
            if rejection:
                self.reject(rejection, s, signal, time)
        elif signal & c.ENTER:
            side = 1 if signal & c.ENTER_LONG else -1
            rejection = self.enter(s, side, time, seen)
            if rejection:
                self.reject(rejection, s, signal, time)

    def enter(
        self, s: int, side: int, time: int, seen: Mapping[int, Seen], *, adds: bool = False
    ) -> str | None:
        """Enter, and return the reason if the entry is rejected; None if it is filled or
        ignored.
        """
        plan, held = self.plan, self.held.get(s)
        reverses = bool(held and held.waits and held.side != side and plan.reverse)
        no_add = self.adds_by_distance and not adds
        no_add |= held is not None and (held.entries >= plan.max_entries or held.taken > 0)
        full = held and (held.waits or no_add)
        if held and not reverses and (full or held.side != side):
            return None
        if seen[s].flag & c.AFTER_SQUARE_OFF:
            return "outside_session"
        if reverses:
            return "circuit"
        if not held and self.is_limited(s):
            return "entry_limit"
        if not held and self.cooling.get(s, 0) > 0:
            return "cooldown"
        if not held and len(self.held) >= plan.max_positions:
            return "position_limit"
        reached = self.reached(s, side, seen[s].bar)
        if not reached:
            return "limit_not_reached"
        if seen[s].flag & (c.LOCKED_UP if side > 0 else c.LOCKED_DOWN):
            return "circuit"
        return self.enter_at(s, side, time, seen, *reached)

    def is_limited(self, s: int) -> bool:
        """Return whether no further position may be opened today, at all or in the symbol."""
        for most, opened in (
            (self.plan.max_entries_a_day, len(self.opened)),
            (self.plan.max_entries_a_symbol, self.opened.count(s)),
        ):
            if most and opened >= most:
                return True
        return False

    def enter_at(  # noqa: PLR0917
        self, s: int, side: int, time: int, seen: Mapping[int, Seen], price: float, inside: bool
    ) -> str | None:
        plan, held = self.plan, self.held.get(s)
        if plan.order_by != c.AT_LIMIT:
            price *= 1 + side * plan.slippage
        ranges = held.ranges if held else self.ranges[s]
        stop, target, share = self.levels_of_entry(s, side)
        if (price - stop) * side <= 0 or (target - price) * side <= 0:
            return "level_beyond_entry"
        distance = self.stop_distance(price, ranges, side, stop)
        equity = self.equity_at_opens(seen) * (share if plan.size_by == c.BY_OPERAND else 1.0)
        wanted: float = self.wanted_lots(s, price, equity, ranges, distance)
        if wanted < 1:
            return "below_one_lot"
        allowed = min(wanted, self.lots_in_limit(s, price, held.quantity if held else 0.0))
        if allowed < 1:
            return "position_limit"
        traded = self.lots_of_volume(s, allowed, seen[s].volume)
        if traded < 1:
            return "below_one_lot"
        lots = self.lots_cash_pays(s, side, price, traded)
        if lots < 1:
            return "insufficient_cash"
        self.count_reduced(lots, traded, allowed, wanted)
        if not held:
            held = self.held[s] = Held(side, time, self.day, ranges, price)
            held.stop_level, held.target_level, held.share = stop, target, share
            self.opened.append(s)
        self.fill(s, held, lots, price, time)
        if inside:
            self.inside.add(s)
        return None

    def count_reduced(self, lots: float, traded: float, allowed: float, wanted: float) -> None:
        for fewer, more, by in (
            (lots, traded, "cash"),
            (traded, allowed, "volume"),
            (allowed, wanted, "max_position_size"),
        ):
            if fewer < more:
                self.reduced[by] = self.reduced.get(by, 0) + 1
                break

    def levels_of_entry(self, s: int, side: int) -> tuple[float, float, float]:
        """Return the stop and the target at levels, NaN for others, and the share of equity."""
        if held := self.held.get(s):
            return held.stop_level, held.target_level, held.share
        levels, short = self.levels[s], side < 0
        stop = self.away_from(s, levels[c.STOP_LEVEL + short], down=not short)
        target = self.away_from(s, levels[c.TARGET_LEVEL + short], down=short)
        return (
            stop if self.plan.stops_at_level else nan,
            target if self.plan.targets_at_level else nan,
            levels[c.SHARE],
        )

    def reached(self, s: int, side: int, bar: Bar) -> tuple[float, bool] | None:
        """Return (price, on the way inside the bar) of the order's fill; None if it is not
        filled.
        """
        if self.plan.order_by == c.AT_MARKET:
            return bar.open, False
        price, held = self.prices[s], self.held.get(s)
        waits_for_a_rise = (side > 0) == (self.plan.order_by == c.AT_STOP)
        if bar.open >= price if waits_for_a_rise else bar.open <= price:
            return bar.open, False
        if bar.high < price if waits_for_a_rise else bar.low > price:
            return None
        if held and not isnan(held.stop) and not held.better(price, held.stop):
            return None  # the stop comes before the order
        if held and not isnan(held.target) and not held.better(held.target, price):
            return None  # and so does the target
        if held and held.taken < self.plan.steps and not held.better(held.steps[held.taken], price):
            return None  # and the next step
        return price, True

    def equity_at_opens(self, seen: Mapping[int, Seen]) -> float:
        equity = self.cash
        for s in sorted(self.held):
            equity += self.worth(s, seen[s].bar.open if s in seen else self.held[s].close)
        return equity

    def wanted_lots(
        self, s: int, price: float, equity: float, ranges: Ranges, distance: float
    ) -> int:
        plan, (lot, multiplier, *_) = self.plan, self.contracts[s]
        unit = price * multiplier
        if plan.size_by == c.BY_QUANTITY:
            wanted = plan.size
        elif plan.size_by == c.BY_AMOUNT:
            wanted = plan.size / unit
        elif plan.size_by in {c.BY_EQUITY, c.BY_OPERAND}:
            wanted = equity * plan.size / unit
        elif plan.size_by == c.BY_RISK:
            wanted = equity * plan.size / (distance * multiplier)
        else:
            wanted = equity * plan.size / (plan.size_atr * ranges.size * multiplier)
        return floor(wanted / lot + 1e-9)

    def lots_of_volume(self, s: int, allowed: float, volume: float) -> float:
        if not self.plan.max_volume_share:
            return allowed
        return min(
            allowed, floor(volume * self.plan.max_volume_share / self.contracts[s].lot + 1e-9)
        )

    def lots_in_limit(self, s: int, price: float, already: float) -> float:
        lot, multiplier, *_ = self.contracts[s]
        if self.plan.max_position_value == inf:
            return inf
        room = self.plan.max_position_value / (price * multiplier) - already
        return floor(room / lot + 1e-9)

    def lots_cash_pays(self, s: int, side: int, price: float, lots: float) -> float:
        """Count the lots that cash pays for, by halving: more lots never cost less."""
        lot, multiplier, margin, *_ = self.contracts[s]
        most = min(lots, floor(max(self.cash, 0) / (lot * price * multiplier * margin)) + 1)
        paid_for: float = 0
        while paid_for < most:
            tried = (paid_for + most + 1) // 2
            value = tried * lot * price * multiplier
            paid = sum(self.charges(s, value, side > 0, self.day)) / 100
            if self.locked_by(s, side, price, tried) + paid <= self.cash + DUST:
                paid_for = tried
            else:
                most = tried - 1
        return paid_for

    def locked_by(self, s: int, side: int, price: float, lots: float) -> float:
        """Return the locked money: a share of the value, plus a share of the underlying for a sold
        option.
        """
        lot, multiplier, margin, *_ = self.contracts[s]
        locked = lots * lot * price * multiplier * margin
        return locked + lots * lot * multiplier * self.short_margins[s] if side < 0 else locked

    def fill(self, s: int, held: Held, lots: float, price: float, time: int) -> None:
        lot, multiplier, *_ = self.contracts[s]
        value = lots * lot * price * multiplier
        items = self.charges(s, value, held.side > 0, self.day)
        fee, quantity = self.pay(items), lots * lot
        self.tell(time, s, held.side, Exit(c.OPEN, price), quantity, items)
        locked = self.locked_by(s, held.side, price, lots)
        self.cash -= locked + fee
        if held.entries:
            held.average = (held.average * held.quantity + price * quantity) / (
                held.quantity + quantity
            )
        else:
            held.average = price
        held.quantity += quantity
        held.locked += locked
        held.charges += fee
        held.entries += 1
        held.last_fill = price
        self.set_levels(s, held)

    def set_levels(self, s: int, held: Held) -> None:
        plan = self.plan
        stop = self.stop_distance(held.average, held.ranges, held.side, held.stop_level)
        if stop > 0:
            level = self.away_from(s, held.average - held.side * stop, down=held.side > 0)
            if not held.better(held.stop, level):  # an add never loosens it
                held.stop, held.trailed = level, False
        target = plan.target_ratio * stop + plan.target_rate * held.average + plan.target_points
        target += plan.target_atr * held.ranges.target
        if target > 0:
            held.target = self.away_from(s, held.average + held.side * target, down=held.side < 0)
        if plan.targets_at_level:
            held.target = held.target_level
        held.steps = []
        for number in range(plan.steps):
            reach = plan.step_ratio[number] * stop + plan.step_rate[number] * held.average
            reach += plan.step_points[number]
            level = self.away_from(s, held.average + held.side * reach, down=held.side < 0)
            if held.steps and held.better(held.steps[-1], level):
                level = held.steps[-1]
            held.steps.append(level)

    def stop_distance(self, price: float, ranges: Ranges, side: int, level: float) -> float:
        """Return the smallest of the possible stop distances; 0 if there is none."""
        plan = self.plan
        first = plan.stop_rate * price + plan.stop_points + plan.stop_atr * ranges.stop
        all_ = [first, plan.second_stop_rate * price, (price - level) * side]
        return min((distance for distance in all_ if distance > 0), default=0.0)

    # Money.

    def away_from(self, s: int, level: float, *, down: bool) -> float:
        tick = self.contracts[s].tick
        if isnan(level):
            return nan
        if down:
            return floor(level * 10_000.0 / tick + 1e-6) * tick / 10_000.0
        return ceil(level * 10_000.0 / tick - 1e-6) * tick / 10_000.0

    def worth(self, s: int, price: float) -> float:
        held = self.held[s]
        exposure = held.side * held.quantity * self.contracts[s].multiplier
        return held.locked + exposure * (price - held.average)

    def tell(  # noqa: PLR0917
        self, time: int, s: int, side: int, at: Exit, quantity: float, items: list[float]
    ) -> None:
        """Record a fill: bought (1) or sold (-1), `at` a price for the reason of an exit,
        or OPEN.
        """
        charges = sum(items) / 100
        self.fills.append((time, s, side, at.reason, quantity, at.price, charges, items))

    def pay(self, items: list[float]) -> float:
        self.paid = [before + item for before, item in zip(self.paid, items, strict=True)]
        return sum(items) / 100

    def charges(
        self, s: int, value: float, buying: bool, day: int, *, delivers: bool = False
    ) -> list[float]:
        """Compute each item of a fill in whole paise, in the order in which users read them.

        `delivers` is true for a sale of shares bought on an earlier day.
        """
        segment = self.contracts[s].segment
        begun = [r for r in self.rates if r.segment == segment and r.first_day <= day]
        if not begun:
            return [0.0] * 8
        rate = begun[-1]
        brokerage = rate.brokerage_flat + min(rate.brokerage * value, rate.brokerage_cap)
        exchange, regulator = rate.exchange * value, rate.regulator * value
        items = [brokerage, (rate.tax_buy if buying else rate.tax_sell) * value]
        items += [exchange, rate.ipft * value, regulator]
        items += [rate.stamp_buy * value if buying else 0.0]
        depository = rate.depository if delivers else 0.0
        items += [rate.gst * (brokerage + exchange + regulator + depository), depository]
        return [floor(item * 100 + 0.5 + 1e-9) * 1.0 for item in items]


def squared_off(seen: Seen) -> int:
    """Return the reason of a close by the hours: the session ends, or the contract is delivered."""
    return c.BY_EXPIRY_CLOSE if seen.flag & c.BEFORE_DELIVERY else c.BY_SQUARE_OFF


def cannot_leave(held: Held, seen: Seen) -> bool:
    """Whether a position cannot be closed, because nobody takes the other side at a locked
    price.
    """
    return bool(seen.flag & (c.LOCKED_DOWN if held.side > 0 else c.LOCKED_UP))


def in_order(values: Iterable[float]) -> float:
    """Add from left to right from 0.0: `sum` of Python 3.12 compensates rounding and differs in the
    end.
    """
    total = 0.0
    for value in values:
        total += value
    return total
