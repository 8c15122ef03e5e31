"""A trader with many algorithms, most of them trading, and with a backtest, webhook and export."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Model
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.own_data import exports
from apps.algorithms import services as algorithms
from apps.algorithms.serializers import AlgorithmBodySerializer
from apps.backtests.models import Backtest, BacktestResult
from apps.market.models import CandleChunk
from apps.trading import services as trading
from apps.trading.models import Order, Position, Run, Signal, Trade
from apps.webhooks.event_types import EventType
from apps.webhooks.models import Delivery
from tests import make
from tests.alerts.hooks import alert_in, hook_of, message_to
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.console.addresses import addresses
from tests.market.bars import at, flat_candles, store_candles
from tests.trading.algorithm_states import start, step_over, stopped_algorithm
from tests.webhooks.events import SUBSCRIBED, emit, endpoint_of

SYMBOL = "NSE:RELIANCE"
CAPITAL = 1_000


def make_portfolio(owner: User, *, count: int, rows: int) -> dict[str, str]:
    """Make `count` algorithms, each with a backtest.

    Two of three trade; the third is paused or a draft. A trading one has `rows` signals, orders,
    trades and events. Return the pages.
    """
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    store_candles(SYMBOL, "15m", wave_candles("2024-01-01", 45))
    runs = [start(_stopped(owner)) for _ in range(count - count // 6)]
    drafts = [make.algorithm(owner, name="Draft") for _ in range(count // 6)]
    draft = drafts[0] if drafts else make.algorithm(owner, name="Draft")
    for period in ("1d", "1h"):
        basics = {**make.steps()["basicInfo"], "timeframe": period}
        algorithms.update(
            owner=owner,
            algorithm_id=draft.pk,
            changes=AlgorithmBodySerializer.read({"basicInfo": basics}),
            now=make.NOW,
        )
    for run in runs[: count // 6]:
        trading.pause(owner=owner, algorithm_id=run.algorithm_id, now=make.NOW)
    _fill(runs, rows=rows)
    step_over(runs[0], "2024-02-05T10:00:00+05:30")
    for run in runs:
        emit(owner, run.algorithm_id, type=EventType.PERFORMANCE_ALERT)
        for _ in range(rows):
            emit(owner, run.algorithm_id, type=EventType.TRADE_EXECUTED)
    endpoint = endpoint_of(owner)
    for run in runs[:rows]:
        emit(owner, run.algorithm_id, type=SUBSCRIBED[0])
    assert Delivery.objects.filter(endpoint=endpoint).exists()
    export = exports.request_export(user=owner, now=timezone.now())
    return addresses(
        algorithm=runs[0].algorithm_id,
        run=runs[0].algorithm_id,
        draft=draft.pk,
        backtest=_make_backtests(owner, runs),
        webhook=endpoint.pk,
        export=export.pk,
        hook=_make_hook(owner, rows=rows),
        at="2024-02-05T10:00",
    )


def _stopped(owner: User) -> Any:
    steps = make.steps()
    symbols = {"basicInfo": {**steps["basicInfo"], "symbols": ["NSE:NIFTY", SYMBOL]}}
    algorithm = stopped_algorithm(owner, initialCapital=CAPITAL)
    return algorithms.update(
        owner=owner,
        algorithm_id=algorithm.pk,
        changes=AlgorithmBodySerializer.read(symbols),
        now=make.NOW,
    )


def _fill(runs: list[Run], *, rows: int) -> None:
    """Give each run a position, and `rows` signals, orders and trades."""
    Position.objects.bulk_create(
        Position(run=run, symbol=SYMBOL, quantity=10, entry_price=Decimal(100), opened_at=make.NOW)
        for run in runs
    )
    bars = [make.NOW + timedelta(minutes=15 * n) for n in range(rows)]
    Signal.objects.bulk_create(
        Signal(
            run=run,
            algorithm_id=run.algorithm_id,
            symbol=SYMBOL,
            bar_time=bar,
            side="long",
            action="entry",
            followed=True,
        )
        for run in runs
        for bar in bars
    )
    Order.objects.bulk_create(
        Order(
            run=run,
            algorithm_id=run.algorithm_id,
            symbol=SYMBOL,
            side="buy",
            intent="entry",
            type="market",
            bar_time=bar,
            placed_at=bar,
        )
        for run in runs
        for bar in bars
    )
    Trade.objects.bulk_create(
        Trade(
            run=run,
            algorithm_id=run.algorithm_id,
            symbol=SYMBOL,
            side="long",
            quantity=10,
            entry_time=bar,
            entry_price=100,
            exit_time=bar + timedelta(minutes=15),
            exit_price=101,
            exit_reason="signal",
            gross_profit=10,
            charges=1,
            profit=9,
            return_percentage=0.9,
            bars=1,
        )
        for run in runs
        for bar in bars
    )


def _make_hook(owner: User, *, rows: int) -> str:
    """Make a hook with `rows` alerts and refused messages."""
    hook = hook_of(owner)
    for number in range(rows):
        alert_in(hook, "breakout", SYMBOL if number % 2 else "")
        message_to(hook, refusal="The body is empty.")
    return str(hook.pk)


def _make_backtests(owner: User, runs: list[Run]) -> str:
    """Complete a backtest, and copy it for each run; return the id of the first."""
    completed = submit(owner, runs[0].algorithm_id)
    run_queued()
    completed.refresh_from_db()
    result = BacktestResult.objects.get(pk=completed.pk)
    copies = Backtest.objects.bulk_create(
        Backtest(**{**_columns(completed), "algorithm_id": run.algorithm_id}) for run in runs
    )
    BacktestResult.objects.bulk_create(
        BacktestResult(**{**_columns(result), "backtest_id": copy.pk}) for copy in copies
    )
    return str(completed.pk)


def _columns(row: Model) -> dict[str, Any]:
    fields = row._meta.concrete_fields
    return {field.attname: getattr(row, field.attname) for field in fields if field.attname != "id"}


def store_series(*, symbols: int, chunks: int = 1) -> None:
    """Store days of this many symbols, in this many chunks each."""
    store_candles("NSE:STORED", "1d", flat_candles([at("2024-01-18 00:00")]))
    columns = _columns(CandleChunk.objects.get(symbol="NSE:STORED"))
    copies = [
        CandleChunk(
            **{**columns, "symbol": f"NSE:STORED{n}", "period_start": date(2024 - 10 * chunk, 1, 1)}
        )
        for n in range(symbols)
        for chunk in range(chunks)
    ]
    CandleChunk.objects.bulk_create(copies, batch_size=1000)
