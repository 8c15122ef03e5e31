"""Backtests: the form with the history that is held, the progress, the result, two side by side."""

import secrets
from datetime import date, datetime
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, QueryDict

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.serializers import AlgorithmSerializer, ReviewSerializer
from apps.backtests import services
from apps.backtests.evidence import services as evidence
from apps.backtests.models import ENDED, Backtest, BacktestKind, BacktestStatus
from apps.backtests.report.evidence_tables import shown_evidence
from apps.backtests.serializers import (
    BacktestQuery,
    BacktestRequestSerializer,
    BacktestSerializer,
    TradeSerializer,
    WholeBacktestSerializer,
)
from apps.backtests.submissions import read_date_range
from apps.console.gate import by_field, console_page, count_as, go_to, is_part, sent, show
from apps.console.lists import listing, listing_of, read_filters, wanted_page
from apps.core import database_clock
from apps.core.errors import InvalidInput, NotFound, ServiceError
from apps.engine.metrics.table import METRICS
from apps.engine.studies.configs import MOST_SEED
from apps.market.dates import INDIA

# The metrics that lead the page of a result.
HEADLINES: Final = (
    "netProfit", "roi", "maxDrawdown", "sharpeRatio", "profitFactor", "winRate", "totalTrades",
)  # fmt: skip


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
    context = {
        "backtests": listing(request, rows.order_by("-created_at", "-pk"), BacktestSerializer),
        "wanted": request.GET,
        "statuses": [status.value for status in BacktestStatus],
        "kinds": [kind.value for kind in BacktestKind],
    }
    return show(request, "backtests", context)


@console_page()
def new_backtest_page(request: HttpRequest, user: User, algorithm_id: str) -> HttpResponse:
    """Ask for a range within the history that is held; on POST submit the backtest."""
    now = database_clock.now()
    algorithm = algorithms.read(owner=user, algorithm_id=algorithm_id)
    review = ReviewSerializer.render(
        algorithms.validate(owner=user, algorithm_id=algorithm_id, now=now)
    )
    context: dict[str, Any] = {
        "algorithm": AlgorithmSerializer.render(algorithm),
        "review": review,
        "kinds": [kind.value for kind in BacktestKind if kind is not BacktestKind.OPTIMIZATION],
        "typed": _first_values(review["coverage"]),
        "history": _picture(review["coverage"], until=now),
        "tab": "backtest",
    }
    if request.method != "POST":
        return show(request, "backtest_new", context)
    count_as(request, "/api/backtests", user=user)
    try:
        backtest = _submit(user, algorithm_id, request.POST, now=now)
    except ServiceError as refusal:
        faults = refusal.faults if isinstance(refusal, InvalidInput) else ()
        context |= {"typed": request.POST, "problems": by_field(faults), "refused": str(refusal)}
        return show(request, "backtest_new", context, status=400)
    return go_to(request, f"/app/backtests/{backtest.pk}")


def _submit(user: User, algorithm_id: str, form: QueryDict, *, now: datetime) -> Backtest:
    texts = sent(form, "startDate", "endDate", "kind", "name")
    body = BacktestRequestSerializer.read({"algorithmId": algorithm_id, **texts})
    return services.submit(
        owner=user,
        algorithm_id=algorithm_id,
        date_range=read_date_range(body["startDate"], body["endDate"], now=now),
        kind=BacktestKind(body.get("kind", BacktestKind.BACKTEST)),
        name=body.get("name", ""),
        overrides={},
        configs={},
        seed=secrets.randbelow(MOST_SEED + 1),
        now=now,
    )


def _first_values(coverage: list[dict[str, Any]]) -> dict[str, str]:
    """Return the range that is held of all symbols."""
    held = [row for row in coverage if row["firstBar"]]
    if not held:
        return {}
    first = max(_day(row["firstBar"]) for row in held)
    last = min(_day(row["lastBar"]) for row in held)
    return {"startDate": first.isoformat(), "endDate": last.isoformat()}


def _day(moment: str) -> date:
    return datetime.fromisoformat(moment).astimezone(INDIA).date()


def _picture(coverage: list[dict[str, Any]], *, until: datetime) -> dict[str, Any]:
    """Return the history of each symbol as a bar within the range of all of them, in percent."""
    held = [row for row in coverage if row["firstBar"]]
    if not held:
        return {}
    begins, ends = min(_day(row["firstBar"]) for row in held), until.astimezone(INDIA).date()
    days = max(1, (ends - begins).days)
    rows = []
    for row in held:
        first, last = _day(row["firstBar"]), _day(row["lastBar"])
        left = 100 * (first - begins).days / days
        width = max(0.5, 100 * ((last - first).days + 1) / days)
        rows.append({**row, "left": f"{left:.2f}", "width": f"{min(width, 100 - left):.2f}"})
    return {"rows": rows, "begins": begins, "ends": ends}


@console_page()
def backtest_page(request: HttpRequest, user: User, backtest_id: str) -> HttpResponse:
    """Show the progress while it runs, then the result; htmx asks for the progress alone."""
    backtest = services.read(owner=user, backtest_id=backtest_id)
    has_ended = backtest.status in ENDED
    if is_part(request) and has_ended:
        return go_to(request, f"/app/backtests/{backtest_id}")
    context: dict[str, Any] = {
        "backtest": WholeBacktestSerializer.render(backtest),
        "has_ended": has_ended,
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
            "figures": _figures(context["backtest"]["performance"], HEADLINES),
        }
    return show(request, "backtest", context)


@console_page()
def evidence_page(request: HttpRequest, user: User, backtest_id: str) -> HttpResponse:
    """Show the evidence on a completed backtest, and have it made where it is not; htmx asks for it
    alone, again and again until it is there.
    """
    requested = evidence.fetch(
        owner=user, backtest_id=backtest_id, as_of=None, now=database_clock.now()
    )
    document = requested.document
    context = {
        "backtest": WholeBacktestSerializer.render(requested.evidence.backtest),
        "evidence": {
            "error": requested.evidence.error,
            "shown": None if document is None else shown_evidence(document),
        },
    }
    return show(request, "parts/evidence" if is_part(request) else "evidence", context)


def _figures(performance: dict[str, Any], names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [
        {"name": name, "value": performance[name], "unit": METRICS[name].unit}
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
            services.cancel(owner=user, backtest_id=backtest_id, now=database_clock.now())
        elif action == "delete":
            services.delete(owner=user, backtest_id=backtest_id, now=database_clock.now())
            return go_to(request, "/app/backtests", "Deleted.")
        else:
            raise NotFound
    return go_to(request, f"/app/backtests/{backtest_id}")


@console_page()
def compare_page(request: HttpRequest, user: User) -> HttpResponse:
    """Show the metrics of two backtests side by side."""
    chosen = request.GET.getlist("id")[:2]
    backtests = [
        BacktestSerializer.render(services.read(owner=user, backtest_id=backtest_id))
        for backtest_id in chosen
    ]
    performances = [backtest["performance"] or {} for backtest in backtests]
    rows = [
        {
            "name": name,
            "unit": metric.unit,
            "values": [performance.get(name) for performance in performances],
        }
        for name, metric in METRICS.items()
    ]
    return show(request, "compare", {"backtests": backtests, "rows": rows})
