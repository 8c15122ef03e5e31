"""Whether as much history is held as a backtest needs, told without running it."""

from apps.backtests.span import Span
from apps.core.errors import Code, ServiceError
from apps.engine.errors import LEAST_BARS
from apps.engine.language import strategy as engine
from apps.engine.studies.configs import WalkForwardConfig
from apps.engine.studies.windows import sessions_needed
from apps.market import store


class InsufficientData(ServiceError):
    """Too little history is held of a symbol for the asked range."""

    code = Code.INSUFFICIENT_DATA
    message = "{symbol} has {barsInRange} usable bars of {timeframe} in this range; 2 are needed."


class TooFewSessions(ServiceError):
    """Too few session days are held in the asked range for the windows of a walk-forward."""

    code = Code.INSUFFICIENT_DATA
    message = "{sessions} session days are held in this range; {windows} windows need {needed}."


def require_data(strategy: engine.Strategy, span: Span) -> None:
    """Refuse at once what cannot give a result: each symbol needs two bars with warm indicators."""
    own = strategy.basicInfo.timeframe
    _require_bars(strategy, span, own, engine.warmup_bars(strategy), within=LEAST_BARS)
    for timeframe, warmup in engine.longer_warmups(strategy).items():
        _require_bars(strategy, span, timeframe, warmup, within=0)


def _require_bars(
    strategy: engine.Strategy, span: Span, timeframe: str, warmup: int, *, within: int
) -> None:
    """At least `within` bars in the range, and with those before it enough to be warm."""
    for symbol, (before, held) in store.short_of(
        strategy.basicInfo.symbols,
        timeframe,
        start=span.start,
        end=span.end,
        within=within,
        total=max(within, 1) + warmup,
    ):
        raise InsufficientData(
            symbol=symbol,
            timeframe=timeframe,
            barsInRange=max(min(held, before + held - warmup), 0),
            warmUpBars=warmup,
            held=store.coverage(symbol),
        )


def require_sessions(strategy: engine.Strategy, span: Span, config: WalkForwardConfig) -> None:
    """Refuse at once a range whose windows would test on less than a day (engine rule 19)."""
    needed = sessions_needed(config.windows, config.trainRatio)
    basic = strategy.basicInfo
    held = store.days_held(
        basic.symbols, basic.timeframe, start=span.start, end=span.end, most=needed
    )
    if held < needed:
        raise TooFewSessions(sessions=held, needed=needed, windows=config.windows)
