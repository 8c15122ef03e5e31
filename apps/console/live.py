"""Trading algorithms: the list, a page for each, its chart, and actions by hand.

The stream of events informs an open page of changes (`static/console/live.js`), and the page
requests the affected part again.
"""

from datetime import date
from typing import Any, Final

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.models import Algorithm, AlgorithmStatus
from apps.algorithms.serializers import AlgorithmSerializer
from apps.console.gate import console_page, count_as, go_to, is_part, show
from apps.console.home import alerts_of
from apps.console.lists import algorithm_listing, listing, read_filters
from apps.core import database
from apps.core.errors import NotFound
from apps.engine.candles import TIMEFRAMES
from apps.market.candles import AdjustedCandles, read_closed, read_page, sample_notice_of
from apps.market.serializers import CandlesSerializer
from apps.market.services import market_time
from apps.trading import services as trading
from apps.trading.models import OrderStatus
from apps.trading.serializers import (
    DriftQuery,
    DriftSerializer,
    ExecutedTradeSerializer,
    OrderSerializer,
    PositionSerializer,
    SignalSerializer,
    StandingSerializer,
)

LIVE: Final = "/app/live"
_CALLS: Final = "/api/trading/algorithms"
_TRADING: Final = (AlgorithmStatus.ACTIVE, AlgorithmStatus.PAUSED, AlgorithmStatus.ERROR)
# Rows of each kind on the page of an algorithm; the lists have the others.
_SHOWN: Final = 8
# Candles and fills of a chart.
_CANDLES: Final = 300
_FILLS: Final = 200
_NEWEST: Final = {
    "positions": ("-opened_at", "-pk"),
    "orders": ("-placed_at", "-pk"),
    "trades": ("-exit_time", "-pk"),
    "signals": ("-bar_time", "-pk"),
}
_SERIALIZERS: Final = {
    "positions": PositionSerializer,
    "orders": OrderSerializer,
    "trades": ExecutedTradeSerializer,
    "signals": SignalSerializer,
}


@console_page()
def live_page(request: HttpRequest, user: User) -> HttpResponse:
    """List active, paused and failed algorithms; htmx requests only the table."""
    context = {"listing": algorithm_listing(request, user, _TRADING)}
    return show(request, "parts/live_table" if is_part(request) else "live", context)


@console_page()
def run_page(request: HttpRequest, user: User, algorithm_id: str) -> HttpResponse:
    """Show the positions, orders and signals of an algorithm; htmx requests the changing parts."""
    algorithm = algorithms.read(owner=user, algorithm_id=algorithm_id)
    target: dict[str, Any] = {"owner": user, "algorithm_id": algorithm_id, "symbol": None}
    held = trading.positions(**target, is_open=True).order_by(*_NEWEST["positions"])
    orders = trading.orders(**target, status=None).order_by(*_NEWEST["orders"])
    signals = trading.signals(**target, followed=None).order_by(*_NEWEST["signals"])
    trades = trading.trades(**target).order_by(*_NEWEST["trades"])
    context: dict[str, Any] = {
        **_head(user, algorithm, tab="now"),
        "positions": [PositionSerializer.render(row) for row in held],
        "orders": [OrderSerializer.render(row) for row in orders[:_SHOWN]],
        "signals": [SignalSerializer.render(row) for row in signals[:_SHOWN]],
        "trades": [ExecutedTradeSerializer.render(row) for row in trades[:_SHOWN]],
        "explains": f"{LIVE}/{algorithm_id}",
        "source": f"{LIVE}/{algorithm_id}/chart",
        "symbols": algorithm.symbols or (),
        "timeframe": algorithm.timeframe,
    }
    summary, total = context["live_summary"], float(trading.total_profit(algorithm_id=algorithm_id))
    context["total_profit"] = total
    context["open_charges"] = summary["netProfit"] + summary["unrealisedProfit"] - total
    if is_part(request):
        return show(request, "parts/run", context)
    context["band"] = trading.read_band(owner=user, algorithm_id=algorithm_id)
    context["alerts"] = alerts_of(user, algorithm_id)
    return show(request, "run", context)


def _head(user: User, algorithm: Algorithm, *, tab: str) -> dict[str, Any]:
    summaries = trading.live_summaries(owner=user, algorithm_ids=[algorithm.pk], now=database.now())
    return {
        "algorithm": AlgorithmSerializer.render(algorithm),
        "live_summary": StandingSerializer.render(summaries[algorithm.pk]),
        "sample_notices": [sample_notice_of(algorithm.symbols or (), algorithm.timeframe)],
        "tab": tab,
    }


@console_page()
def chart_page(request: HttpRequest, user: User, algorithm_id: str) -> HttpResponse:
    """Return the last candles of a symbol that the algorithm has seen, with its fills."""
    algorithm = algorithms.read(owner=user, algorithm_id=algorithm_id)
    symbol = request.GET.get("symbol", "")
    timeframe = algorithm.timeframe
    if timeframe not in TIMEFRAMES or symbol not in (algorithm.symbols or ()):
        raise NotFound
    clock = market_time(now=database.now())
    newest = read_page(symbol, timeframe, start=None, end=clock, limit=_CANDLES)
    start = int(newest.candles.time[0]) if len(newest.candles) else clock
    closed = read_closed(symbol, timeframe, start=start, clock=clock)
    target: dict[str, Any] = {"owner": user, "algorithm_id": algorithm_id, "symbol": symbol}
    filled = trading.orders(**target, status=OrderStatus.FILLED).order_by(*_NEWEST["orders"])
    held = trading.positions(**target, is_open=True)
    answer = {
        "symbol": symbol,
        "timeframe": timeframe,
        "priced": AdjustedCandles(closed, generated_until=newest.generated_until),
    }
    return JsonResponse(
        {
            **CandlesSerializer.render(answer),
            "fills": [OrderSerializer.render(order) for order in filled[:_FILLS]],
            "positions": [PositionSerializer.render(position) for position in held],
        }
    )


@console_page()
def activity_page(request: HttpRequest, user: User, algorithm_id: str, kind: str) -> HttpResponse:
    """List the positions, orders, trades or signals of an algorithm, the newest first."""
    algorithm = algorithms.read(owner=user, algorithm_id=algorithm_id)
    target: dict[str, Any] = {"owner": user, "algorithm_id": algorithm_id, "symbol": None}
    rows: QuerySet[Any, Any]
    match kind:
        case "positions":
            rows = trading.positions(**target, is_open=None)
        case "orders":
            rows = trading.orders(**target, status=None)
        case "trades":
            rows = trading.trades(**target)
        case "signals":
            rows = trading.signals(**target, followed=None)
        case _:
            raise NotFound
    page = listing(request, rows.order_by(*_NEWEST[kind]), _SERIALIZERS[kind])
    context = {**_head(user, algorithm, tab=kind), "listing": page, kind: page.rows}
    return show(request, "run_list", context)


@console_page()
def drift_page(request: HttpRequest, user: User, algorithm_id: str) -> HttpResponse:
    """Show the differences between a session on paper and its backtest, and list the sessions."""
    algorithm = algorithms.read(owner=user, algorithm_id=algorithm_id)
    day: date | None = read_filters(request, DriftQuery).get("date")
    drift = trading.read_drift(owner=user, algorithm_id=algorithm_id, day=day)
    context = {
        **_head(user, algorithm, tab="drift"),
        "drift": DriftSerializer.render(drift),
        "sessions": trading.latest_sessions(owner=user, algorithm_id=algorithm_id),
    }
    return show(request, "run_drift", context)


@console_page()
def close_position_page(
    request: HttpRequest, user: User, algorithm_id: str, symbol: str
) -> HttpResponse:
    """Ask before a position is closed; on POST request it."""
    algorithm = algorithms.read(owner=user, algorithm_id=algorithm_id)
    address = f"{LIVE}/{algorithm_id}"
    if request.method == "POST":
        count_as(request, _CALLS, user=user)
        trading.request_position_close(
            owner=user, algorithm_id=algorithm_id, symbol=symbol, now=database.now()
        )
        return go_to(request, address, f"{symbol} closes at the next price.")
    held = trading.positions(owner=user, algorithm_id=algorithm_id, symbol=symbol, is_open=True)
    position = held.first()
    if position is None:
        raise NotFound
    context = {
        "algorithm": AlgorithmSerializer.render(algorithm),
        "position": PositionSerializer.render(position),
        "back": address,
    }
    return show(request, "close_position", context)


@console_page()
def stop_page(request: HttpRequest, user: User, algorithm_id: str) -> HttpResponse:
    """Ask before an algorithm is stopped, and whether its positions are closed; on POST do it."""
    algorithm = algorithms.read(owner=user, algorithm_id=algorithm_id)
    address = f"{LIVE}/{algorithm_id}"
    if request.method == "POST":
        count_as(request, _CALLS, user=user)
        trading.stop(
            owner=user,
            algorithm_id=algorithm_id,
            close_positions="closePositions" in request.POST,
            now=database.now(),
        )
        return go_to(request, address, f"{algorithm.name} is stopped.")
    return show(request, "stop", {**_head(user, algorithm, tab="stop"), "back": address})


@console_page()
def run_action_page(
    request: HttpRequest, user: User, algorithm_id: str, action: str
) -> HttpResponse:
    """Pause or resume an algorithm, or cancel the order that the form names."""
    address = f"{LIVE}/{algorithm_id}"
    if request.method != "POST":
        return go_to(request, address)
    count_as(request, _CALLS, user=user)
    now = database.now()
    match action:
        case "pause":
            trading.pause(owner=user, algorithm_id=algorithm_id, now=now)
            message = "Paused. No new entries; open positions keep their stops and targets."
            return go_to(request, address, message)
        case "resume":
            started = trading.resume(owner=user, algorithm_id=algorithm_id, now=now)
            warnings = " ".join(fault.message for fault in started.warnings)
            return go_to(request, address, f"Resumed. {warnings}")
        case "cancel":
            order = trading.cancel_order(
                owner=user, order_id=request.POST.get("orderId", ""), now=now
            )
            return go_to(request, address, f"Cancelling the {order.symbol} order.")
        case _:
            raise NotFound
