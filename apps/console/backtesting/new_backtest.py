"""A new backtest: its range within the stored history, its study, and its estimated time."""

import secrets
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.models import Algorithm
from apps.algorithms.serializers import AlgorithmSerializer, ReviewSerializer
from apps.backtests import services
from apps.backtests.analysis import format_duration
from apps.backtests.models import Backtest, BacktestKind
from apps.backtests.serializers import BacktestRequestSerializer
from apps.backtests.services import STUDY_FIELDS, read_date_range
from apps.console.backtesting.override_forms import override_form, read_overrides
from apps.console.backtesting.study_forms import (
    first_configs,
    numbers_of,
    read_study_form,
    study_form,
)
from apps.console.gate import by_field, console_page, count_as, go_to, is_part, sent, show
from apps.console.schema_forms import FormNode, list_paths
from apps.core import database
from apps.core.errors import InvalidInput, ServiceError
from apps.core.times import INDIA
from apps.engine.studies import (
    MonteCarloConfig,
    OptimizationConfig,
    StudyConfig,
    WalkForwardConfig,
)

# The fields beside the configuration of a study.
_TEXTS: Final = ("startDate", "endDate", "kind", "name")


@console_page()
def new_backtest_page(request: HttpRequest, user: User, algorithm_id: str) -> HttpResponse:
    """Ask for a range and a study, and check them while the user types.

    On POST submit the backtest, unless the form names a `change` of itself.
    """
    now = database.now()
    algorithm = algorithms.read(owner=user, algorithm_id=algorithm_id)
    review = ReviewSerializer.render(
        algorithms.validate(
            owner_id=str(algorithm.owner_id), steps=algorithm.configuration, now=now
        )
    )
    is_sent, change = request.method == "POST", request.POST.get("change", "")
    typed = (
        request.POST.dict()
        if is_sent
        else {
            **_first_values(review["coverage"]),
            **sent(request.GET, "kind", "startDate", "endDate"),
        }
    )
    kind = _kind_of(typed)
    steps = algorithm.configuration
    numbers, overrides = numbers_of(steps), read_overrides(typed)
    if is_sent and change != "choose:kind":
        configs = read_study_form(typed, kind, numbers, change=change)
    else:
        configs = first_configs(kind, _own_configs(algorithm), numbers)
    context: dict[str, Any] = {
        "algorithm": AlgorithmSerializer.render(algorithm),
        "address": f"/app/algorithms/{algorithm_id}/backtest",
        "kinds": [kind.value for kind in BacktestKind],
        "typed": typed,
        "form": study_form(kind, configs, numbers),
        "overrides": override_form(overrides, steps),
        "is_overridden": bool(overrides),
        "history": _picture(review["coverage"], until=now),
        "is_typing": change == "typing",
        "estimate": "",
        "shows_hints": True,
        "tab": "backtest",
    }
    is_submitted = is_sent and not change
    try:
        wanted = _read(typed, overrides, configs, user=user, algorithm_id=algorithm_id, now=now)
        if is_submitted:
            count_as(request, "/api/backtests", user=user)
            name = typed.get("name") or algorithm.name
            return go_to(request, f"/app/backtests/{_submit(wanted, name).pk}")
        context["estimate"] = _estimate(services.compose(**wanted))
    except ServiceError as refusal:
        context |= _refused(refusal, [*context["form"], *context["overrides"]])
    if is_part(request):
        return show(request, "parts/backtest_form", context)
    return show(request, "backtest_new", context, status=400 if is_submitted else 200)


def _refused(refusal: ServiceError, roots: list[FormNode]) -> dict[str, Any]:
    """Return the problems keyed by field, and the sentence above the form."""
    places = {*_TEXTS, *(node.path for root in roots for node in root.leaves())}
    faults = refusal.faults if isinstance(refusal, InvalidInput) else ()
    problems = by_field(faults, list_paths(roots))
    has_places = problems and problems.keys() <= places
    return {
        "problems": problems,
        "refused": "Check the highlighted fields." if has_places else str(refusal),
    }


def _kind_of(typed: Mapping[str, str]) -> BacktestKind:
    """Return the kind of the form; an unknown kind is refused later, with the other errors."""
    kind = typed.get("kind", "")
    return BacktestKind(kind) if kind in tuple(BacktestKind) else BacktestKind.BACKTEST


def _own_configs(algorithm: Algorithm) -> dict[str, Any]:
    return {
        "walkForwardConfig": algorithm.walk_forward_config,
        "monteCarloConfig": algorithm.monte_carlo_config,
    }


def _read(
    typed: Mapping[str, str],
    overrides: Mapping[str, Any],
    configs: Mapping[str, Any],
    *,
    user: User,
    algorithm_id: str,
    now: datetime,
) -> dict[str, Any]:
    """Return the arguments of the service, read as by the API. Raises InvalidInput."""
    texts = {name: typed[name] for name in _TEXTS if typed.get(name)}
    body = BacktestRequestSerializer.read(
        {"algorithmId": algorithm_id, **texts, **overrides, **configs}
    )
    return {
        "owner": user,
        "algorithm_id": algorithm_id,
        "date_range": read_date_range(body["startDate"], body["endDate"], now=now),
        "kind": BacktestKind(body.get("kind", BacktestKind.BACKTEST)),
        "overrides": overrides,
        "configs": configs,
        "now": now,
    }


def _submit(wanted: Mapping[str, Any], name: str) -> Backtest:
    return services.submit(**wanted, name=name, seed=secrets.randbelow(StudyConfig.MOST_SEED + 1))


def _estimate(backtest: Backtest) -> str:
    """Describe the size and the estimated time of a backtest before it is submitted."""
    kind = BacktestKind(backtest.kind)
    sentences = []
    if field := STUDY_FIELDS.get(kind):
        config = field.model.read(backtest.study or {})
        sentences.append(_size_of(config, backtest.configuration))
    if seconds := services.estimate_seconds(backtest):
        sentences.append(f"Takes {format_duration(seconds)}.")
    return " ".join(sentences)


def _size_of(config: StudyConfig, steps: Mapping[str, Any]) -> str:
    match config:
        case MonteCarloConfig():
            return f"{config.runs:,} random paths."
        case WalkForwardConfig():
            sets = config.grid(steps).size
            return f"{sets:,} sets in each of {config.windows} windows."
        case OptimizationConfig():
            sets = config.grid(steps).size
            if config.method == "random" and config.maxRuns < sets:
                return f"{config.maxRuns:,} of {sets:,} sets."
            return f"{sets:,} sets."
    raise TypeError(f"{config!r} configures no study.")


def _first_values(coverage: list[dict[str, Any]]) -> dict[str, str]:
    """Return the stored range common to all symbols."""
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
