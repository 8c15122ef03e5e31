"""Backtests: the list, the progress, the result with its actions, up to four side by side."""

from typing import Any, Final

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.gzip import gzip_page

from apps.accounts.models import User
from apps.algorithms.serializers import CHANGEABLE
from apps.backtests import services
from apps.backtests.analysis import (
    EXPLAINABLE_KINDS,
    BacktestComparisonSerializer,
    WhatIfSerializer,
    compare_backtests,
    curves_drawing,
    fetch_evidence,
    links_of,
    read_reproduction,
    read_result_page,
    recall_link,
    reproduce,
    share_report,
    sign_link,
    simulate_changes,
)
from apps.backtests.models import Backtest, BacktestKind, BacktestStatus, ReportLink
from apps.backtests.serializers import (
    BacktestQuery,
    BacktestSerializer,
    ResultTable,
    WholeBacktestSerializer,
)
from apps.console.backtesting.study_forms import StepNumber, numbers_of
from apps.console.gate import console_page, count_as, go_to, is_part, show
from apps.console.lists import listing, read_filters
from apps.core import database
from apps.core.api.resources import SIGNED
from apps.core.errors import Code, Fault, InvalidInput, NotFound
from apps.engine.results import METRICS
from apps.engine.studies import applied

_MOST_COMPARED: Final = 4
# What helps after a backtest that ended without a result, by the code of its error.
_ADVICE: Final = {
    Code.INTERNAL_SERVER_ERROR: "Run it again. If it fails again, tell the operator.",
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


@gzip_page
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
        "links": [
            {"id": link.pk, "url": _url_of(request, link), "expires_at": link.expires_at}
            for link in links_of(owner=user, backtest_id=backtest.pk, now=now)
        ],
        "numbers": _changeable_numbers(backtest),
        "reproduction": backtest.reproduces
        and read_reproduction(owner=user, backtest_id=backtest.pk),
    }
    return show(request, "result", context)


def _url_of(request: HttpRequest, link: ReportLink) -> str:
    return request.build_absolute_uri(SIGNED + sign_link(link))


def _changeable_numbers(backtest: Backtest) -> list[StepNumber]:
    """Return the numbers of a plain backtest that a what-if may change."""
    if backtest.kind != BacktestKind.BACKTEST:
        return []
    return [row for row in numbers_of(backtest.configuration) if row.step in CHANGEABLE]


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
def backtest_action_page(
    request: HttpRequest, user: User, backtest_id: str, action: str
) -> HttpResponse:
    """Cancel, delete, repeat or share a backtest, or try a change of it."""
    address = f"/app/backtests/{backtest_id}"
    if request.method != "POST":
        return go_to(request, address)
    count_as(request, "/api/backtests", user=user)
    target: dict[str, Any] = {"owner": user, "backtest_id": backtest_id, "now": database.now()}
    match action:
        case "cancel":
            services.cancel(**target)
        case "delete":
            services.delete(**target)
            return go_to(request, "/app/backtests", "Deleted.")
        case "reproduce":
            return go_to(request, f"/app/backtests/{reproduce(**target).backtest.pk}")
        case "share":
            share_report(**target)
            return go_to(request, f"{address}#share", "Link created. It works for 24 hours.")
        case "recall":
            recall_link(**target, link_id=request.POST.get("link", ""))
            return go_to(request, f"{address}#share", "The link no longer works.")
        case "what-if":
            return _what_if(request, **target)
        case _:
            raise NotFound
    return go_to(request, address)


def _what_if(request: HttpRequest, **target: Any) -> HttpResponse:
    """Show the metrics with one number of the steps changed; htmx requests only their table."""
    backtest = services.read(owner=target["owner"], backtest_id=target["backtest_id"])
    path, text = request.POST.get("path", ""), request.POST.get("value", "")
    if path not in {row.path for row in _changeable_numbers(backtest)}:
        raise InvalidInput(Fault("path", "is not a number of this backtest", path))
    try:
        value = float(text)
    except ValueError:
        raise InvalidInput(Fault("value", "must be a number", text)) from None
    step = path.partition(".")[0]
    changed = applied(backtest.configuration, {path: value})[step]
    result = WhatIfSerializer.render(
        simulate_changes(**target, changed={step: changed}, store=False)
    )
    rows = [
        _metric_row(row["name"], [row["first"], row["second"]]) for row in result["metrics"] or ()
    ]
    context = {
        "name": backtest.name or "Backtest",
        "address": f"/app/backtests/{backtest.pk}",
        "changes": result["changes"],
        "rows": [row for row in rows if row["differs"]],
    }
    return show(request, "parts/what_if" if is_part(request) else "what_if", context)


def _metric_row(name: str, values: list[float | None]) -> dict[str, Any]:
    """Return a metric of several results, and whether they differ in it."""
    differs = len(set(values)) > 1
    return {"name": name, "values": values, "unit": METRICS[name].unit, "differs": differs}


@console_page()
def compare_page(request: HttpRequest, user: User) -> HttpResponse:
    """Show up to four backtests side by side, the first beside each of the others."""
    chosen = request.GET.getlist("id")
    if len(chosen) < 2:
        return show(request, "compare")
    first, *further = chosen[:_MOST_COMPARED]
    pairs = [compare_backtests(owner=user, ids=(first, other)) for other in further]
    compared = [pairs[0].backtests[0], *(pair.backtests[1] for pair in pairs)]
    curves = [pairs[0].curves[0], *(pair.curves[1] for pair in pairs)]
    shown = [BacktestComparisonSerializer.render(pair) for pair in pairs]
    metrics = [{row["name"]: row for row in pair["metrics"]} for pair in shown]
    rows = [
        _metric_row(name, [row["first"], *(by_name[name]["second"] for by_name in metrics)])
        for name, row in metrics[0].items()
        if all(name in by_name for by_name in metrics)
    ]
    context = {
        "backtests": [shown[0]["backtests"][0], *(pair["backtests"][1] for pair in shown)],
        "pairs": shown,
        "left_out": len(chosen) - len(compared),
        "drawing": curves_drawing(
            [
                (curve, float(row.initial_capital))
                for curve, row in zip(curves, compared, strict=True)
            ]
        ),
        "rows": sorted(rows, key=lambda row: not row["differs"]),
        "sample_notices": list(map(services.notice_on_result, compared)),
    }
    return show(request, "compare", context)


def _notice_of(row: dict[str, Any]) -> str:
    """Return the notice on generated candles in the notes of a rendered backtest."""
    notes = (row["receipt"] or {}).get("notes", ())
    return next((note["message"] for note in notes if note["code"] == "sample_data"), "")
