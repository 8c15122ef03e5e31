"""Backtests: the list, the progress, the result, two side by side."""

from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from apps.accounts.models import User
from apps.backtests import services
from apps.backtests.analysis import (
    EXPLAINABLE_KINDS,
    BacktestComparisonSerializer,
    compare_backtests,
    dated_evidence,
    fetch_evidence,
    shown_evidence,
)
from apps.backtests.models import BacktestKind, BacktestStatus
from apps.backtests.serializers import (
    BacktestQuery,
    BacktestSerializer,
    TradeSerializer,
    WholeBacktestSerializer,
)
from apps.console.gate import console_page, count_as, go_to, is_part, show
from apps.console.lists import listing, listing_of, read_filters, wanted_page
from apps.core import database
from apps.core.errors import NotFound
from apps.engine.results import METRICS

# The metrics that lead the page of a result.
HEADLINES: Final = (
    "netProfit",
    "roi",
    "maxDrawdown",
    "sharpeRatio",
    "profitFactor",
    "winRate",
    "totalTrades",
)
# Of these a reader looks for the sign first.
_SIGNED: Final = ("netProfit", "roi")
# Candles of the chart: about as many as a screen shows apart.
_MOST_CANDLES: Final = 600


@console_page()
def backtests_page(request: HttpRequest, user: User) -> HttpResponse:
    """List the backtests, filtered by algorithm, status and kind."""
    wanted = read_filters(request, BacktestQuery)
    rows = services.backtests_of(
        owner=user,
        algorithm_id=wanted.get("algorithm_id"),
        status=wanted.get("status"),
        kind=wanted.get("kind"),
    )
    shown = listing(request, rows.order_by("-created_at", "-pk"), BacktestSerializer)
    context = {
        "backtests": shown,
        "sample_notices": [_notice_of(row) for row in shown.rows],
        "wanted": request.GET,
        "statuses": [status.value for status in BacktestStatus],
        "kinds": [kind.value for kind in BacktestKind],
    }
    return show(request, "backtests", context)


@console_page()
def backtest_page(request: HttpRequest, user: User, backtest_id: str) -> HttpResponse:
    """Show the progress while it runs, then the result; htmx requests only the progress."""
    backtest = services.read(owner=user, backtest_id=backtest_id)
    if is_part(request) and backtest.has_ended:
        return go_to(request, f"/app/backtests/{backtest_id}")
    context: dict[str, Any] = {
        "backtest": WholeBacktestSerializer.render(backtest),
        "sample_notices": [services.notice_on_result(backtest)],
        "has_ended": backtest.has_ended,
        "engine_notes": services.engine_notes(backtest),
    }
    if is_part(request):
        return show(request, "parts/progress", context)
    if backtest.status == BacktestStatus.COMPLETED:
        page = wanted_page(request)
        trades, total = services.trades(
            owner=user, backtest_id=backtest_id, symbol=None, rows=page.rows
        )
        data = [TradeSerializer.render(trade) for trade in trades]
        context |= {
            "trades": listing_of(request, data, page, total=total),
            "explains": f"/app/backtests/{backtest_id}"
            if backtest.kind in EXPLAINABLE_KINDS
            else "",
            "source": f"/api/backtests/{backtest_id}/chart?limit={_MOST_CANDLES}",
            "figures": _figures(context["backtest"]["performance"], HEADLINES),
        }
    return show(request, "backtest", context)


@console_page()
def evidence_page(request: HttpRequest, user: User, backtest_id: str) -> HttpResponse:
    """Show the evidence on a completed backtest, and request it if there is none. htmx requests the
    verdict or, with `whole`, everything, until it is ready.
    """
    now = database.now()
    made = fetch_evidence(owner=user, backtest_id=backtest_id, now=now)
    document = dated_evidence(made, as_of=None, now=now).document
    context = {
        "backtest": WholeBacktestSerializer.render(made.backtest),
        "sample_notices": [services.notice_on_result(made.backtest)],
        "engine_notes": services.engine_notes(made.backtest),
        "evidence_page": f"/app/backtests/{backtest_id}/evidence",
        "is_whole": not is_part(request) or "whole" in request.GET,
        "evidence": {
            "error": made.error,
            "shown": None if document is None else shown_evidence(document),
        },
    }
    return show(request, "parts/evidence" if is_part(request) else "evidence", context)


def _figures(performance: dict[str, Any], names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "value": performance[name],
            "unit": METRICS[name].unit,
            "is_signed": name in _SIGNED,
        }
        for name in names
        if name in METRICS
    ]


@console_page()
def end_backtest_page(
    request: HttpRequest, user: User, backtest_id: str, action: str
) -> HttpResponse:
    """Cancel or delete a backtest."""
    if request.method == "POST":
        count_as(request, "/api/backtests", user=user)
        if action == "cancel":
            services.cancel(owner=user, backtest_id=backtest_id, now=database.now())
        elif action == "delete":
            services.delete(owner=user, backtest_id=backtest_id, now=database.now())
            return go_to(request, "/app/backtests", "Deleted.")
        else:
            raise NotFound
    return go_to(request, f"/app/backtests/{backtest_id}")


@console_page()
def compare_page(request: HttpRequest, user: User) -> HttpResponse:
    """Show two backtests side by side, with a verdict."""
    chosen = request.GET.getlist("id")[:2]
    if len(chosen) < 2:
        return show(request, "compare")
    comparison = compare_backtests(owner=user, ids=(chosen[0], chosen[1]))
    context = {
        **BacktestComparisonSerializer.render(comparison),
        "sample_notices": list(map(services.notice_on_result, comparison.backtests)),
    }
    rows = [{**row, "unit": METRICS[row["name"]].unit} for row in context["metrics"]]
    return show(request, "compare", {**context, "rows": rows})


def _notice_of(row: dict[str, Any]) -> str:
    """Return the notice on generated candles in the notes of a rendered backtest."""
    notes = (row["receipt"] or {}).get("notes", ())
    return next((note["message"] for note in notes if note["code"] == "sample_data"), "")
