"""Algorithms: the gallery, an algorithm in words, its versions, and its actions."""

from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm
from apps.algorithms.serializers import (
    AlgorithmBodySerializer,
    AlgorithmSerializer,
    ReviewSerializer,
    SummarySerializer,
    TemplateSerializer,
    VersionSerializer,
    VersionSummaryQuery,
    VersionSummarySerializer,
)
from apps.console.describing.alerts import alert_rows
from apps.console.editing.steps import BLANK, READING_ORDER
from apps.console.gate import console_page, count_as, go_to, sent, show
from apps.console.lists import algorithm_listing, listing
from apps.core import database
from apps.core.errors import NotFound
from apps.trading import services as trading

_CALLS: Final = "/api/trading/algorithms"


@console_page()
def algorithms_page(request: HttpRequest, user: User) -> HttpResponse:
    return show(request, "algorithms", {"algorithms": algorithm_listing(request, user)})


GALLERY_FILTERS: Final = ("style", "timeframe", "sides")
"""Properties of a template by which the gallery is filtered."""


@console_page()
def gallery_page(request: HttpRequest, user: User) -> HttpResponse:
    """Show the built-in templates and those of users; on POST make an algorithm."""
    if request.method == "POST":
        count_as(request, _CALLS, user=user)
        return _made(request, user, request.POST.get("strategy", ""))
    chosen = {name: request.GET[name] for name in GALLERY_FILTERS if request.GET.get(name)}
    templates = services.BUILT_IN_TEMPLATES
    context = {
        "strategies": [
            template
            for template in templates
            if all(getattr(template, name) == value for name, value in chosen.items())
        ],
        "filters": [
            (name, sorted({getattr(template, name) for template in templates}), chosen.get(name))
            for name in GALLERY_FILTERS
        ],
        "shared": listing(request, services.templates(viewer=user), TemplateSerializer),
    }
    return show(request, "gallery", context)


def _made(request: HttpRequest, user: User, slug: str) -> HttpResponse:
    """Make an algorithm of a built-in template, or a draft without steps; go to its page."""
    now = database.now()
    if slug == "blank":
        algorithm = services.create(
            owner=user, changes=AlgorithmBodySerializer.read(BLANK), now=now
        )
        return go_to(request, f"{_address(algorithm)}/steps", "Choose symbols and add conditions.")
    template = {template.slug: template for template in services.BUILT_IN_TEMPLATES}.get(slug)
    if template is None:
        raise NotFound
    algorithm = services.clone(owner=user, algorithm_id=template.id, name=template.name, now=now)
    text = "Added to your algorithms. Edit it, or backtest it as it is."
    return go_to(request, _address(algorithm), text)


@console_page()
def algorithm_page(request: HttpRequest, user: User, algorithm_id: str) -> HttpResponse:
    """Describe an algorithm, with its missing parts and warnings."""
    algorithm = services.read(owner=user, algorithm_id=algorithm_id)
    review = services.validate(
        owner_id=str(algorithm.owner_id), steps=algorithm.configuration, now=database.now()
    )
    summary = services.summary(owner=user, algorithm_id=algorithm_id)
    steps = {step["step"]: step for step in SummarySerializer.render(summary)["steps"]}
    context = {
        "algorithm": AlgorithmSerializer.render(algorithm),
        "review": ReviewSerializer.render(review),
        "summary": [steps[name] for name in READING_ORDER],
        "alerts": alert_rows(algorithm),
        "unsaved": services.unsaved_steps(algorithm),
        "tab": "words",
    }
    return show(request, "algorithm", context)


@console_page()
def versions_page(request: HttpRequest, user: User, algorithm_id: str) -> HttpResponse:
    """List the versions, and describe the differences of two of them."""
    algorithm = services.read(owner=user, algorithm_id=algorithm_id)
    rows = services.versions(owner=user, algorithm_id=algorithm_id)
    context: dict[str, Any] = {
        "algorithm": AlgorithmSerializer.render(algorithm),
        "versions": listing(request, rows, VersionSerializer),
        "tab": "versions",
    }
    number = request.GET.get("version", "")
    if number.isascii() and number.isdigit():
        query = request.GET.copy()
        for name in ("version", "page"):
            query.pop(name, None)
        difference = services.version_summary(
            owner=user,
            algorithm_id=algorithm_id,
            number=min(int(number), 2**31 - 1),
            since=VersionSummaryQuery.read_query(query).get("since"),
        )
        context["difference"] = VersionSummarySerializer.render(difference)
    return show(request, "algorithm_versions", context)


@console_page()
def algorithm_action_page(
    request: HttpRequest, user: User, algorithm_id: str, action: str
) -> HttpResponse:
    """Clone, delete, rename, start, pause or resume an algorithm."""
    if request.method != "POST":
        return go_to(request, f"/app/algorithms/{algorithm_id}")
    count_as(request, _CALLS, user=user)
    now = database.now()
    target: dict[str, Any] = {"owner": user, "algorithm_id": algorithm_id}
    match action:
        case "clone":
            algorithm = services.clone(**target, name=None, now=now)
            return go_to(request, _address(algorithm), f"{algorithm.name} is a copy.")
        case "delete":
            services.archive(**target, now=now)
            return go_to(request, "/app/algorithms", "Deleted.")
        case "rename":
            body = AlgorithmBodySerializer.read(sent(request.POST, "name", "description"))
            services.update(**target, changes=body, now=now)
            return go_to(request, f"/app/algorithms/{algorithm_id}", "Renamed.")
        case "start" | "resume":
            begin = trading.start if action == "start" else trading.resume
            warnings = " ".join(fault.message for fault in begin(**target, now=now).warnings)
            message = f"{'Started' if action == 'start' else 'Resumed'} on paper. {warnings}"
            return go_to(request, f"/app/live/{algorithm_id}", message)
        case "pause":
            trading.pause(**target, now=now)
        case _:
            raise NotFound
    return go_to(request, f"/app/algorithms/{algorithm_id}", "Done.")


def _address(algorithm: Algorithm) -> str:
    return f"/app/algorithms/{algorithm.pk}"
