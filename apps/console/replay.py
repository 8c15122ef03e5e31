"""The replay of stored candles: begin it, watch its clock, change its speed and end it."""

from datetime import date, timedelta
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from apps.accounts.models import User
from apps.console.gate import by_field, console_page, count_as, go_to, is_part, show
from apps.core import database
from apps.core.errors import Fault, Forbidden, InvalidInput, NotFound
from apps.core.times import INDIA, moment, read_moment
from apps.engine.candles import InvalidSymbol, Symbol
from apps.market.services import FeedIsActive, read_feed, replayed_until
from apps.trading import services as trading

REPLAY: Final = "/app/data/replay"
# Market seconds a second, keyed by the value of the form; None is the fastest.
_SPEEDS: Final[dict[str, float | None]] = {"1": 1.0, "60": 60.0, "max": None}
_SPEED_NAMES: Final = {"1": "1x", "60": "60x", "max": "As fast as it goes"}
_PROPOSED_DAYS: Final = timedelta(days=6)


@console_page()
def replay_page(request: HttpRequest, user: User) -> HttpResponse:
    """Show the replay, and begin, speed up or end it; htmx requests only its state."""
    if not trading.may_replay(user):
        raise Forbidden(reason="Only an operator can replay history: it moves everybody's market.")
    if request.method == "POST":
        count_as(request, "/api/market/candles", user=user)
        return _act(request, user)
    return _show_replay(request)


def _show_replay(
    request: HttpRequest, problems: dict[str, str] | None = None, *, status: int = 200
) -> HttpResponse:
    now, replayed = database.now(), replayed_until()
    feed = read_feed(now)
    context: dict[str, Any] = {
        "feed": feed,
        "is_played": feed is not None and feed.is_leased(now),
        "clock": None if replayed is None else moment(replayed),
        "speeds": _SPEED_NAMES,
        "speed": next((key for key, value in _SPEEDS.items() if feed and value == feed.speed), ""),
        "tab": "replay",
    }
    if feed is not None and feed.start is not None and feed.until is not None:
        passed = max((replayed or feed.start) - feed.start, 0)
        context["progress"] = min(passed * 100 // (feed.until - feed.start), 100)
        context["until"] = moment(feed.until)
    if is_part(request):
        response = show(request, "parts/replay_state", context)
        if feed is None:
            response["HX-Refresh"] = "true"
        return response
    if feed is None:
        proposal = _proposal()
        stored = proposal.get("stored")
        is_over = stored and replayed is not None and stored.last.timestamp() < replayed
        context |= {
            "is_over": is_over,
            "typed": request.POST,
            "problems": problems or {},
            **proposal,
        }
    return show(request, "replay", context, status=status)


def _proposal() -> dict[str, Any]:
    symbols = trading.propose_symbols()
    stored = trading.find_range(symbols)
    if stored is None:
        return {"symbols": symbols}
    last, first = (time.astimezone(INDIA).date() for time in (stored.last, stored.first))
    proposed: date = max(first, last - _PROPOSED_DAYS)
    return {"symbols": symbols, "stored": stored, "first": first, "last": last, "from": proposed}


def _act(request: HttpRequest, user: User) -> HttpResponse:
    now, speed = database.now(), request.POST.get("speed", "")
    match request.POST.get("action"):
        case "start":
            try:
                return _start(request, user)
            except InvalidInput as refusal:
                return _show_replay(request, by_field(refusal.faults), status=400)
            except FeedIsActive as refusal:
                return go_to(request, REPLAY, str(refusal))
        case "speed":
            trading.change_replay_speed(user=user, speed=_speed_of(speed), now=now)
            return go_to(request, REPLAY)
        case "end":
            has_ended = trading.stop_replay(user=user, now=now)
            message = "The replay has ended. Algorithms that were active are paused."
            return go_to(request, REPLAY, message if has_ended else "There is no replay.")
        case _:
            raise NotFound


def _start(request: HttpRequest, user: User) -> HttpResponse:
    start, until = request.POST.get("from", ""), request.POST.get("to", "")
    symbols = _symbols_of(request.POST.get("symbols", ""))
    feed = trading.start_replay(
        user=user,
        symbols=symbols,
        start=read_moment("from", start, last=False) if start else None,
        until=read_moment("to", until, last=True) if until else None,
        speed=_speed_of(request.POST.get("speed", "")),
        now=database.now(),
    )
    message = "The replay begins. Active algorithms trade as it plays."
    if left_out := ", ".join(symbol for symbol in symbols if symbol not in feed.symbols):
        message += f" Left out, as they have no {feed.timeframe} candles: {left_out}."
    return go_to(request, REPLAY, message)


def _symbols_of(text: str) -> list[str]:
    """Return the symbols of the form. Raises InvalidInput."""
    names = text.replace(",", " ").split()
    if not names:
        raise InvalidInput(Fault("symbols", "Name at least one symbol to play."))
    try:
        return [str(Symbol.parse(name.upper())) for name in names]
    except InvalidSymbol as error:
        raise InvalidInput(Fault("symbols", error.reason)) from None


def _speed_of(name: str) -> float | None:
    if name not in _SPEEDS:
        raise InvalidInput(Fault("speed", f"must be one of {', '.join(_SPEEDS)}"))
    return _SPEEDS[name]
