"""Backtests: the list, the progress, the result, two side by side."""

from typing import Any, Final

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from apps.accounts.models import User
from apps.backtests import services
from apps.backtests.analysis import (
    EXPLAINABLE_KINDS,
    BacktestComparisonSerializer,
    compare_backtests,
    fetch_evidence,
    read_result_page,
)
from apps.backtests.models import Backtest, BacktestKind, BacktestStatus
from apps.backtests.serializers import (
    BacktestQuery,
    BacktestSerializer,
    ResultTable,
    WholeBacktestSerializer,
)
from apps.console.gate import console_page, count_as, go_to, is_part, show
from apps.console.lists import listing, read_filters
from apps.core import database
from apps.core.errors import Code, NotFound
from apps.engine.results import METRICS

# What helps after a backtest that ended without a result, by the code of its error.
_ADVICE: Final = {
    Code.INTERNAL_SERVER_ERROR: "Run it again. If it fails again, tell the operator.",
    Code.SERVICE_UNAVAILABLE: "Run it again later, or with fewer symbols or a shorter range.",
    Code.INSUFFICIENT_DATA: "Load the missing candles, or choose other dates, then run it again.",
    "": "Change the algorithm, the symbols or the dates, then run it again.",
}


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
    if backtest.status == BacktestStatus.COMPLETED:
        return _result(request, user, backtest)
    code = (backtest.error or {}).get("code", "")
    context = {
        "backtest": WholeBacktestSerializer.render(backtest),
        "has_ended": backtest.has_ended,
        "advice": _ADVICE.get(code, _ADVICE[""]),
    }
    return show(request, "parts/progress" if is_part(request) else "backtest", context)


def _result(request: HttpRequest, user: User, backtest: Backtest) -> HttpResponse:
    """Show the result, and request its evidence if there is none."""
    now = database.now()
    made = fetch_evidence(owner=user, backtest_id=backtest.pk, now=now)
    address = f"/app/backtests/{backtest.pk}"
    context = {
        "backtest": WholeBacktestSerializer.render(backtest),
        "result": read_result_page(owner=user, backtest_id=backtest.pk, now=now),
        "is_waiting": made.completed_at is None,
        "address": address,
        "explains": address if backtest.kind in EXPLAINABLE_KINDS else "",
    }
    return show(request, "result", context)


@console_page()
def evidence_page(request: HttpRequest, user: User, backtest_id: str) -> HttpResponse:
    """Lead to the evidence on the result's page; htmx waits here until it is ready."""
    made = fetch_evidence(owner=user, backtest_id=backtest_id, now=database.now())
    if not is_part(request):
        return go_to(request, f"/app/backtests/{backtest_id}#evidence")
    if made.completed_at is None:
        return HttpResponse(status=204)
    return _result(request, user, made.backtest)


@console_page()
def download_trades(request: HttpRequest, user: User, backtest_id: str) -> HttpResponseBase:
    """Download all trades as CSV."""
    table = ResultTable()
    blocks = services.all_trades(owner=user, backtest_id=backtest_id, symbol=None)
    return StreamingHttpResponse(
        table.parts(table.rows["data"], blocks),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="trades-{backtest_id}.csv"'},
    )


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
