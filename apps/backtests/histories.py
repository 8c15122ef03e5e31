"""What the engine needs of each symbol: its bars with their warm-up, its hours, its contract."""

from collections.abc import Callable
from typing import Final

from apps.engine.candles import start_of_block
from apps.engine.errors import EngineError
from apps.engine.simulate import Contract, History
from apps.engine.strategy import Strategy, longer_warmups
from apps.engine.timeline import Note
from apps.market import store
from apps.market.rulebook.sessions import sessions_of
from apps.market.store import Priced
from apps.symbols.models import Instrument

MOST_BARS: Final = 10_000_000
"""Of one backtest, over all its symbols: a worker holds them in memory."""


class TooManyBars(EngineError):
    """More history than a worker should hold at once."""

    def __init__(self) -> None:
        super().__init__(
            f"The range holds more than {MOST_BARS:,} bars over all symbols; shorten it,"
            " or name fewer symbols or a longer timeframe."
        )


def histories_of(
    strategy: Strategy, *, start: int, end: int, on_progress: Callable[[float], None]
) -> list[History]:
    """In the listed order of symbols, which is the order in which they trade (engine rule 2).

    `on_progress` is told the fraction that is read after each; what it raises ends the reading.
    Raises TooManyBars.
    """
    symbols, timeframe = strategy.basicInfo.symbols, strategy.basicInfo.timeframe
    known = Instrument.objects.in_bulk(symbols, field_name="symbol")
    begins = start_of_block(start, timeframe)  # where longer timeframes are read from (rule 11)
    histories, bars = [], 0
    for symbol in symbols:
        priced = store.read_adjusted(symbol, timeframe, start=start, end=end)
        longer = {
            name: store.read_adjusted(symbol, name, start=begins, end=end).candles
            for name in longer_warmups(strategy)
        }
        bars += sum(map(len, (priced.candles, *longer.values())))
        if bars > MOST_BARS:
            raise TooManyBars
        histories.append(
            History(
                symbol,
                priced.candles,
                sessions_of(symbol),
                contract_of(known.get(symbol)),
                notes=_notes(symbol, priced),
                longer=longer,
            )
        )
        on_progress(len(histories) / len(symbols))
    return histories


def _notes(symbol: str, priced: Priced) -> tuple[Note, ...]:
    """Which splits and bonuses the prices are adjusted for."""
    if not priced.actions:
        return ()
    told = ", ".join(f"{each.kind} {each.terms} of {each.ex_date}" for each in priced.actions)
    return (Note("adjusted_prices", f"Prices of {symbol} are adjusted for: {told}."),)


def contract_of(instrument: Instrument | None) -> Contract:
    """Lot and tick as the master has them; the engine's defaults of an unknown one (rule 3)."""
    if instrument is None:
        return Contract()
    tick = float(instrument.tick_size) if instrument.tick_size else Contract().tick
    return Contract(lot=float(instrument.lot_size), tick=tick)
