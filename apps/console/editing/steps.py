"""The steps of an algorithm as a form and as JSON."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import orjson
from django.http import HttpRequest, HttpResponse
from django.views.decorators.gzip import gzip_page

from apps.accounts.models import User
from apps.alerts.services import received_names
from apps.algorithms import services
from apps.algorithms.models import Algorithm
from apps.algorithms.serializers import AlgorithmBodySerializer, AlgorithmSerializer
from apps.algorithms.services import STEPS, Configuration
from apps.console.editing.edits import STEPS_FORM, Edit
from apps.console.editing.messages import plain_refusal
from apps.console.editing.symbols import replace_symbol
from apps.console.editing.unsaved import UnsavedState, keep_unsaved, open_unsaved
from apps.console.gate import by_field, console_page, count_as, go_to, is_part, show
from apps.console.schema_forms import form_of, list_paths
from apps.core import database, requests
from apps.core.errors import Fault, InvalidInput
from apps.engine.language import StepSummary, summarize

_CALLS: Final = "/api/trading/algorithms"


BLANK: Final[Mapping[str, Mapping[str, Any]]] = {
    "basicInfo": {"strategyType": "momentum", "timeframe": "5m"},
    "positionSizing": {"method": "risk_based", "riskPercentage": 1},
    "entryConditions": {"positionType": "long"},
    "exitConditions": {"squareOffTime": "15:00"},
    "riskParameters": {"maxPositionSize": 500_000, "maxDailyLoss": 25_000, "maxOpenPositions": 1},
    "executionSettings": {"mode": "paper", "exchange": "NSE", "orderType": "market"},
}
"""The steps that a blank strategy begins with."""
_TITLES: Final = {
    "basicInfo": "What it trades",
    "entryConditions": "Entry",
    "exitConditions": "Exit",
    "positionSizing": "Size",
    "riskParameters": "Limits",
    "executionSettings": "Orders and costs",
}
"""The steps in the order of the form."""
READING_ORDER: Final = (
    "entryConditions",
    "exitConditions",
    "positionSizing",
    "riskParameters",
    "basicInfo",
    "executionSettings",
)
"""The steps as a trader reads them."""


@gzip_page
@console_page()
def steps_page(request: HttpRequest, user: User, algorithm_id: str) -> HttpResponse:
    """Show the steps as a form; each change is checked while the user types, and saved on
    demand; unsaved changes are kept.
    """
    algorithm = services.read(owner=user, algorithm_id=algorithm_id)
    address = f"{_address(algorithm)}/steps"
    context: dict[str, Any] = {
        "algorithm": AlgorithmSerializer.render(algorithm),
        "address": address,
        "tab": "steps",
    }
    sent_form = {path: text.replace("\0", "") for path, text in request.POST.dict().items()}
    status, edit = 200, Edit.of(sent_form)
    if edit.action == "drop":
        services.drop_unsaved_steps(algorithm)
        return go_to(request, address, "Dropped. These are the saved steps.")
    if edit.action == "find" and is_part(request):
        return show(request, "parts/found_matches", {"path": edit.path, "text": edit.text})
    if request.method == "POST":
        if edit.action == "symbol":
            sent_form = replace_symbol(sent_form, sent_form["change"])
        steps = edit.read(sent_form)
        context["unsaved"] = keep_unsaved(algorithm, sent_form, steps, now=database.now())
        if edit.action == "save":
            count_as(request, _CALLS, user=user)
            try:
                _save(user, algorithm, steps, context["unsaved"])
                return go_to(request, _address(algorithm), "Saved.")
            except InvalidInput as refusal:
                context["unsaved"] = replace(context["unsaved"], version=algorithm.version)
                context["refused"], status = plain_refusal(refusal), 400
    else:
        steps, context["unsaved"] = open_unsaved(algorithm)
    review = services.review(algorithm=_with_steps(algorithm, steps), now=database.now())
    form = {node.path: node for node in form_of(steps, STEPS_FORM)}
    lists = list_paths(form.values())
    context |= {
        "form": [replace(form[step], label=title) for step, title in _TITLES.items()],
        "words": _words(steps),
        "folds": True,
        "problems": by_field(review.errors, lists),
        "doubts": by_field(review.warnings, lists),
        "is_typing": edit.action == "typing",
        "focus": _focus(edit, steps),
    }
    if is_part(request):
        return show(request, "parts/steps_form", context)
    context["alert_names"] = received_names(owner=user)
    return show(request, "algorithm_steps", context, status=status)


def _focus(edit: Edit, steps: Configuration) -> str:
    """Return the path that has the focus next: of a choice, or where a new strategy begins."""
    if edit.action in ("add", "put"):
        return edit.path
    has_symbols = (steps.get("basicInfo") or {}).get("symbols")
    return "" if edit.action or has_symbols else "basicInfo.symbols"


def _words(steps: Configuration) -> list[tuple[str, StepSummary]]:
    summaries = {summary.step: summary for summary in summarize(steps)}
    return [(_TITLES[step], summaries[step]) for step in READING_ORDER]


def _save(user: User, algorithm: Algorithm, steps: Configuration, unsaved: UnsavedState) -> None:
    """Save the steps, unless another version was saved since.

    Raises InvalidInput, and PreconditionFailed if it is saved at the same moment.
    """
    if unsaved.version != algorithm.version:
        text = f"Version {algorithm.version} was saved after you began. Save again to replace it."
        raise InvalidInput(Fault("", text))
    services.update(
        owner=user,
        algorithm_id=algorithm.pk,
        changes=AlgorithmBodySerializer.read(steps),
        now=database.now(),
        expected=requests.Expectation(frozenset({requests.tag_of(algorithm.rev)})),
    )
    services.drop_unsaved_steps(algorithm)


def _with_steps(algorithm: Algorithm, steps: Configuration) -> Algorithm:
    """Return the algorithm with other steps, without storing it."""
    columns = {column: steps[wire] for wire, column in STEPS.items()}
    return Algorithm(pk=algorithm.pk, owner_id=algorithm.owner_id, name=algorithm.name, **columns)


@console_page()
def json_page(request: HttpRequest, user: User, algorithm_id: str) -> HttpResponse:
    """Show the steps as the API takes them; saving stores the typed text."""
    algorithm = services.read(owner=user, algorithm_id=algorithm_id)
    context: dict[str, Any] = {
        "algorithm": AlgorithmSerializer.render(algorithm),
        "text": _text_of(algorithm),
        "tab": "json",
    }
    if request.method != "POST":
        return show(request, "algorithm_json", context)
    count_as(request, _CALLS, user=user)
    text = request.POST.get("steps", "")
    try:
        body = _parsed(text)
        services.update(
            owner=user,
            algorithm_id=algorithm_id,
            changes=AlgorithmBodySerializer.read(body),
            now=database.now(),
        )
    except InvalidInput as refusal:
        context |= {"text": text, "problems": by_field(refusal.faults)}
        return show(request, "algorithm_json", context, status=400)
    return go_to(request, _address(algorithm), "Saved.")


def _text_of(algorithm: Algorithm) -> str:
    return orjson.dumps(algorithm.configuration, option=orjson.OPT_INDENT_2).decode()


def _parsed(text: str) -> dict[str, Any]:
    """Read only the six steps. Raises InvalidInput."""
    body = requests.read_json(text.encode())
    if not isinstance(body, dict):
        raise InvalidInput(Fault("", "must be an object of steps"))
    unknown = body.keys() - STEPS.keys()
    if unknown:
        raise InvalidInput(*(Fault(name, "is no step") for name in sorted(unknown)))
    return body


def _address(algorithm: Algorithm) -> str:
    return f"/app/algorithms/{algorithm.pk}"
