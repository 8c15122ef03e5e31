"""What the engine needs of each symbol: its bars with their warm-up, its hours, its contract."""

from apps.engine.simulate import Contract, History
from apps.engine.strategy import Strategy
from apps.market import store
from apps.market.rulebook.sessions import sessions_of
from apps.symbols.models import Instrument


def histories_of(strategy: Strategy, *, start: int, end: int) -> list[History]:
    """In the listed order of symbols, which is the order in which they trade (engine rule 2)."""
    known = Instrument.objects.in_bulk(strategy.basicInfo.symbols, field_name="symbol")
    timeframe = strategy.basicInfo.timeframe
    return [
        History(
            symbol=symbol,
            candles=store.read(symbol, timeframe, start=start, end=end, warmup=True),
            sessions=sessions_of(symbol),
            contract=contract_of(known.get(symbol)),
        )
        for symbol in strategy.basicInfo.symbols
    ]


def contract_of(instrument: Instrument | None) -> Contract:
    """Lot and tick as the master has them; the engine's defaults of an unknown one (rule 3)."""
    if instrument is None:
        return Contract()
    tick = float(instrument.tick_size) if instrument.tick_size else Contract().tick
    return Contract(lot=float(instrument.lot_size), tick=tick)
