"""The wrapper of every page of the console: the user, the rate limit, and the look of errors.

A page is a function of the request and, unless it is public, of the user. The session cookie proves
the user; Django's middleware checks the CSRF token of every POST.
"""

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, Final, TypeVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.accounts import calls, services
from apps.accounts.calls import identify
from apps.accounts.models import LoginSession, User
from apps.core import database, limits, requests
from apps.core.api import resources
from apps.core.errors import Fault, InvalidInput
from apps.core.times import INDIA
from apps.market.services import FeedState, read_feed_status
from apps.trading.services import may_replay, open_profit

HOME: Final = "/app"
SIGN_IN: Final = "/app/sign-in"

# Advice for an error, beside its message.
_ADVICE: Final[Mapping[int, str]] = {
    404: "The address may be mistyped, or the page was deleted.",
    405: "Go back and reload the page.",
    413: "Send less at once.",
    429: "Wait, then reload the page.",
    500: "Reload the page. If that does not help, tell the operator.",
    503: "Wait a moment, then reload the page.",
}

_CRASHED: Final = "Something went wrong on our side."

_View = TypeVar("_View", bound=Callable[..., HttpResponseBase])


def login_session(request: HttpRequest) -> LoginSession | None:
    """Return the login session of the browser's cookie; keys and tokens open no page."""
    credential = identify(request).credential
    return credential if isinstance(credential, LoginSession) else None


def console_page(*, public: bool = False) -> Callable[[_View], _View]:
    """Make a function a page: strangers are redirected to the sign-in page, errors become
    a page.
    """

    def decorate(view: _View) -> _View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                if public:
                    return view(request, *args, **kwargs)
                session = login_session(request)
                if session is None:
                    return _to_sign_in(request)
                return view(request, session.user, *args, **kwargs)
            except Exception as error:  # `for_exception` names or logs any exception
                return refusal_page(request, error)

        guarded.is_public = public  # type: ignore[attr-defined]  # for the test of all pages
        methods = require_http_methods(["GET", "HEAD", "POST"])
        return never_cache(methods(guarded))  # type: ignore[return-value]

    return decorate


def show(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    """Render a template of the console, with the user and the header in its context."""
    session = login_session(request)
    shared: dict[str, Any] = {"trader": session.user if session else None}
    shared["is_part"] = is_part(request)
    if session and not shared["is_part"]:
        shared["market"] = market_row(session.user)
    return render(request, f"console/{template}.html", {**shared, **(context or {})}, status=status)


def market_row(user: User) -> dict[str, Any]:
    """Return the second row of the header: the market's clock, the feed, the last bar and the
    user's open profit.
    """
    status = read_feed_status(now=database.now())
    days = [at.astimezone(INDIA).date() for at in (status.market_time, status.last_bar) if at]
    return {
        "status": status,
        "is_replay": status.state in (FeedState.REPLAYING, FeedState.REPLAY_PAUSED),
        "has_bar_today": len(set(days)) == 1 < len(days),
        "open_profit": open_profit(owner=user),
        "may_replay": may_replay(user),
    }


def let_in(
    request: HttpRequest, session: LoginSession, address: str, message: str = ""
) -> HttpResponse:
    """Sign the browser in and redirect it to a page; from now on it is a known device of
    the user.
    """
    services.end_when_idle(session, now=database.now())
    calls.log_browser_in(request, session)
    response = go_to(request, address, message)
    calls.remember_device(response, session.user)
    return response


def go_to(request: HttpRequest, address: str, message: str = "") -> HttpResponse:
    """Redirect the browser to another page, which then shows the message."""
    if message:
        messages.success(request, message)
    if is_part(request):
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)


def is_part(request: HttpRequest) -> bool:
    """Return whether htmx requests a part of a page."""
    return request.headers.get("HX-Request") == "true"


def refusal_page(request: HttpRequest, error: Exception) -> HttpResponse:
    """Show the error of the envelope, as a page or, to htmx, as a notice of the page."""
    body = resources.for_exception(error)["error"]
    faults = error.faults if isinstance(error, InvalidInput) else ()
    session = login_session(request)
    trader = session.user if session else None
    response = show_refusal(request, body, faults=faults if len(faults) > 1 else (), trader=trader)
    if "retryAfter" in body:
        response["Retry-After"] = str(body["retryAfter"])
    return response


def show_refusal(
    request: HttpRequest,
    error: Mapping[str, Any],
    *,
    faults: tuple[Fault, ...] = (),
    trader: User | None = None,
) -> HttpResponse:
    """Show an error of the envelope, with advice, without reading the database."""
    status = int(error["status"])
    context = {
        "refusal": error,
        "faults": faults,
        "headline": _CRASHED if status == 500 else error["message"],
        "advice": _ADVICE.get(status, ""),
        "number": error["requestId"] if status >= 500 else "",
        "trader": trader,
    }
    template = "parts/refusal" if is_part(request) else "refusal"
    response = render(request, f"console/{template}.html", context, status=status)
    if is_part(request):
        response["HX-Retarget"], response["HX-Reswap"] = "#notices", "innerHTML"
    return response


def count_as(request: HttpRequest, path: str, *, user: User | None = None) -> None:
    """Count a posted form in the rate-limit scope of the equivalent API call.

    Raises TooManyRequests, LimiterDown.
    """
    address = requests.current_origin().address or "unknown"
    user_id = user.pk if user else None
    scope = limits.scope_of("POST", path, user_id=user_id, address=address)
    limits.refuse_exceeded(limits.count_request(scope) if scope else None)


def by_field(faults: tuple[Fault, ...], lists: Collection[str] = ()) -> dict[str, str]:
    """Return the messages keyed by field; for an entry of one of `lists`, keyed by the list."""
    messages_by_field: dict[str, str] = {}
    for fault in faults:
        whole = fault.field.rpartition("[")[0]
        field, message = fault.field, fault.message
        if whole in lists:
            field, message = whole, f"{fault.value} {fault.message}"
        messages_by_field.setdefault(field, message)
    return messages_by_field


def sent(form: QueryDict, *names: str) -> dict[str, str]:
    """Return the filled-in fields of a form, keyed by wire name."""
    return {name: str(form[name]) for name in names if form.get(name)}


def next_page(request: HttpRequest) -> str:
    """Return the page to open after signing in: a page of the console, by default its home."""
    wanted = request.POST.get("next") or request.GET.get("next") or HOME
    is_own = url_has_allowed_host_and_scheme(wanted, allowed_hosts=None)
    return wanted if is_own and wanted.startswith(HOME) else HOME


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    query = QueryDict(mutable=True)
    if request.method == "GET" and not is_part(request) and request.get_full_path() != HOME:
        query["next"] = request.get_full_path()
    address = f"{SIGN_IN}?{query.urlencode()}" if query else SIGN_IN
    return go_to(request, address)
