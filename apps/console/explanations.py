"""The reasons for an entry or exit at a candle, or against it: of a backtest, and of paper
trading.
"""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.backtests import services as backtests
from apps.backtests.analysis import ExplanationSerializer, explain_backtest
from apps.console.gate import console_page, is_part, show
from apps.core.api.resources import STATUS
from apps.core.errors import ServiceError
from apps.core.times import read_moment
from apps.market.candles import sample_notice_of
from apps.trading.serializers import RunExplanationSerializer
from apps.trading.services import explain_run

# A browser sends a date and time without a zone: it means India's.
_ZONE = "+05:30"


@console_page()
def explain_backtest_page(request: HttpRequest, user: User, backtest_id: str) -> HttpResponse:
    """Explain the candle of a completed backtest that the address names."""
    backtest = backtests.read(owner=user, backtest_id=backtest_id)

    def explained(symbol: str, at: int) -> dict[str, Any]:
        explanation = explain_backtest(owner=user, backtest_id=backtest_id, symbol=symbol, at=at)
        return ExplanationSerializer.render(explanation)

    address, name = f"/app/backtests/{backtest_id}", backtest.name or "Backtest"
    notice = sample_notice_of(backtest.symbols, backtest.timeframe)
    context = {"explains": address, "name": name, "symbols": backtest.symbols}
    return _page(request, explained, {**context, "sample_notices": [notice]})


@console_page()
def explain_run_page(request: HttpRequest, user: User, algorithm_id: str) -> HttpResponse:
    """Explain the candle of an algorithm's trading on paper that the address names."""
    algorithm = algorithms.read(owner=user, algorithm_id=algorithm_id)

    def explained(symbol: str, at: int) -> dict[str, Any]:
        explanation = explain_run(owner=user, algorithm_id=algorithm_id, symbol=symbol, at=at)
        return RunExplanationSerializer.render(explanation)

    address, symbols = f"/app/live/{algorithm_id}", algorithm.symbols or ()
    notice = sample_notice_of(symbols, algorithm.timeframe)
    context = {"explains": address, "name": algorithm.name, "symbols": symbols}
    return _page(request, explained, {**context, "sample_notices": [notice]})


def _page(
    request: HttpRequest,
    explained: Callable[[str, int], dict[str, Any]],
    head: dict[str, Any],
) -> HttpResponse:
    """Show the form and, once it is filled in, the explanation; htmx requests only the latter."""
    symbol, at = request.GET.get("symbol", ""), request.GET.get("at", "")
    context: dict[str, Any] = {**head, "typed": request.GET}
    status = 200
    if symbol and at:
        try:
            moment = read_moment("at", at + _ZONE, last=False)
            context["explanation"] = explained(symbol, moment)
        except ServiceError as refusal:
            context["refused"], status = str(refusal), STATUS[refusal.code]
    template = "parts/explanation" if is_part(request) else "explain"
    return show(request, template, context, status=status)
