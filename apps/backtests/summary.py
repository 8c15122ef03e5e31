"""A result as a page of text, for the terminal."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from apps.engine.simulation.results import trade_dicts, wire_times
from apps.engine.simulation.simulate import Result

# What is shown, in which words, in which form: the names are the wire's.
_FIGURES: Final = (
    ("totalTrades", "Trades", "{:,.0f}"),
    ("winRate", "Win rate", "{:.2f} %"),
    ("netProfit", "Net profit", "{:+,.2f}"),
    ("roi", "Return", "{:+.2f} %"),
    ("charges", "Charges", "{:,.2f}"),
    ("profitFactor", "Profit factor", "{:.2f}"),
    ("averageWin", "Average win", "{:,.2f}"),
    ("averageLoss", "Average loss", "{:,.2f}"),
    ("maxDrawdown", "Largest drawdown", "{:.2f} %"),
    ("sharpeRatio", "Sharpe ratio, per trade", "{:.3f}"),
    ("sharpeRatioAnnualized", "Sharpe ratio, annualised", "{:.3f}"),
    ("finalEquity", "Final equity", "{:,.2f}"),
)
_LAST_TRADES: Final = 5


def summary_of(result: Result) -> str:
    """The figures, the last trades, and what must be known to read them."""
    return "\n".join(_lines(result))


def _lines(result: Result) -> Iterator[str]:
    first, last = wire_times(result.curve["time"][[0, -1]])
    yield f"{', '.join(result.symbols)}: {len(result.curve):,} bars, {first} to {last}"
    yield ""
    for name, words, form in _FIGURES:
        yield f"  {words:26}{_shown(result.performance, name, form):>20}"
    yield ""
    yield from _trades(result)
    notes: Any = result.receipt["notes"]
    for note in notes:
        yield f"Note: {note['message']}"


def _shown(performance: Mapping[str, Any], name: str, form: str) -> str:
    """Any: figures are numbers, None, or for breakdowns objects; only numbers are in the table."""
    value = performance[name]
    return "none" if value is None else form.format(value)


def _trades(result: Result) -> Iterator[str]:
    shown = trade_dicts(result.trades[-_LAST_TRADES:], result.symbols, None)
    if not shown:
        yield "  No trades."
        return
    yield f"  The last {len(shown)} of {len(result.trades):,} trades"
    for trade in shown:
        yield (
            f"  {trade['exitTime']}  {trade['symbol']}  {trade['side']:5}"
            f" {trade['quantity']:>10,.0f}  {trade['entryPrice']:>12,.2f} -> "
            f"{trade['exitPrice']:>12,.2f}  {trade['profit']:>+14,.2f}  {trade['exitReason']}"
        )
