"""The console's formats of amounts, ratios, times and names."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

from django.template import Library
from django.utils.html import format_html_join

from apps.algorithms.models import ALGORITHM_TRANSITIONS, AlgorithmStatus, AlgorithmTransition
from apps.backtests.analysis import (
    NO_VALUE,
    format_duration,
    format_metric,
    format_number,
    format_rupees,
    humanize,
)
from apps.core import database
from apps.core.times import INDIA
from apps.engine.results import Unit
from apps.market.services import FeedState, feed_warning
from apps.trading import services as trading

register: Final = Library()
_NAVIGATION: Final = (
    ("/app", "Home"),
    ("/app/algorithms", "Algorithms"),
    ("/app/gallery", "Gallery"),
    ("/app/backtests", "Backtests"),
    ("/app/live", "Live"),
    ("/app/alerts", "Alerts"),
    ("/app/data", "Data"),
    ("/app/settings", "Settings"),
)
# Templates write "" for a key of a mapping that is None, such as the result of a queued backtest.
_MISSING: Final = (None, "")
_FEED_STATES: Final = {
    FeedState.LIVE: "Feed running",
    FeedState.REPLAYING: "Replay running",
    FeedState.REPLAY_PAUSED: "Replay paused",
    FeedState.MARKET_CLOSED: "Market closed",
    FeedState.NO_FEED: "No feed",
}
# Marks in a user agent, the most specific first: nearly all contain Safari.
_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Final = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


@register.simple_tag(name="sample_notice")
def _sample_notice(notices: Collection[str]) -> str:
    """Write each of the notices on generated candles once."""
    paragraphs = ((notice,) for notice in sorted(set(notices)) if notice)
    return format_html_join("", '<p class="notice warning">{}</p>', paragraphs)


@register.inclusion_tag("console/parts/failure.html", name="failure_notice")
def _write_failure(algorithm: Mapping[str, Any]) -> dict[str, Any]:
    """Write why an algorithm is in error, and what its owner can do."""
    if algorithm["status"] != AlgorithmStatus.ERROR:
        return {"failures": []}
    return {"failures": trading.find_failures(algorithm_id=algorithm["id"], most=1)}


@register.inclusion_tag("console/parts/feed_hint.html", name="feed_hint", takes_context=True)
def _write_feed_hint(context: Mapping[str, Any], algorithm: Mapping[str, Any]) -> dict[str, Any]:
    """Write why an algorithm that can be started or resumed would wait for prices."""
    symbols = (algorithm.get("basicInfo") or {}).get("symbols")
    if not symbols or not any(_allows(algorithm["status"], verb) for verb in ("start", "resume")):
        return {"warning": ""}
    warning = feed_warning(symbols, now=database.now())
    return {"warning": warning, "may_replay": warning and trading.may_replay(context["trader"])}


register.simple_tag(trading.may_replay, name="may_replay")


@register.filter("rupees")
def _write_rupees(amount: Any, digits: int = 0) -> str:
    """Write rupees, whole by default, lakhs and crores set apart."""
    return NO_VALUE if amount in _MISSING else format_rupees(float(amount), digits)


@register.filter("number")
def _write_number(value: Any, digits: int = 2) -> str:
    return NO_VALUE if value in _MISSING else format_number(float(value), digits)


@register.filter("percent")
def _write_percent(value: Any) -> str:
    return NO_VALUE if value in _MISSING else f"{format_number(float(value))}%"


@register.filter("sign")
def _write_sign(value: float | None) -> str:
    """Return the class of a gain or a loss; its number shows the sign too."""
    return "gain" if value and value > 0 else "loss" if value and value < 0 else ""


@register.filter("when")
def _write_when(moment: str | datetime | None, form: str = "%d %b %Y, %H:%M") -> str:
    """Write a moment of the wire as people in India read it."""
    if not moment:
        return NO_VALUE
    time = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return time.astimezone(INDIA).strftime(form)


@register.filter("feed")
def _write_feed(state: FeedState) -> str:
    """Write the state of the feed for the header."""
    return _FEED_STATES[state]


@register.filter("day")
def _write_day(text: str) -> str:
    """Write an end of a range as it was sent: a date, or a moment."""
    moment = datetime.fromisoformat(text)
    return moment.strftime("%d %b %Y") if len(text) == len("2026-01-31") else _write_when(text)


register.filter("duration", format_duration)


@register.filter("words")
def _write_words(name: Any) -> str:
    """Write a wire name such as `stop_loss` or `algorithm.started` as words."""
    return humanize(str(name).replace(".", "_")) if name else NO_VALUE


@register.filter("of")
def _write_of(mapping: Any, key: Any) -> Any:
    """Look up a variable key; None if it is missing."""
    return mapping.get(key) if mapping else None


@register.filter("browser")
def _write_browser(user_agent: str) -> str:
    """Name the browser and the system of a user agent; an unknown one stays unchanged."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), None)
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), None)
    if browser is None:
        return user_agent[:60] or NO_VALUE
    return f"{browser} on {system}" if system else browser


@register.filter("allows")
def _allows(status: str, transition: str) -> bool:
    """Return whether an algorithm with this status can be started, stopped, paused or resumed."""
    return status in ALGORITHM_TRANSITIONS[AlgorithmTransition(transition)].sources


@register.filter("rate")
def _write_rate(percent: float) -> str:
    """Write a rate with all of its places: 0.0001 percent of a crore is 10 rupees."""
    return f"{percent:.7f}".rstrip("0").rstrip(".") + "%"


@register.filter("charge")
def _write_charge(row: Mapping[str, Any]) -> str:
    """Write the rate of an item of charges: rupees, percent or both, and the maximum."""
    amounts = [format_rupees(row[name]) for name in ("amount", "flat") if row.get(name)]
    if row.get("percent") or not amounts:
        amounts.append(_write_rate(row.get("percent") or 0))
    most = f", at most {format_rupees(row['cap'])}" if row.get("cap") else ""
    return " and ".join(amounts) + most


@register.filter("fact")
def _write_fact(value: Any) -> str:
    """Write a fact about an instrument: a text, a number, yes or no, or several of them."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or NO_VALUE
    return NO_VALUE if value in (None, "") else str(value)


@register.simple_tag(name="metric")
def _write_metric(value: float | None, unit: Unit) -> str:
    """Write the value of a metric with its unit."""
    return NO_VALUE if value is None else format_metric(value, unit)


@register.inclusion_tag("console/parts/navigation.html", name="navigation")
def _write_navigation(path: str) -> dict[str, Any]:
    """List the parts of the console, with the part of the path as current."""
    current = max(
        (address for address, _ in _NAVIGATION if f"{path}/".startswith(f"{address}/")), default=""
    )
    return {
        "items": [
            {"address": address, "name": name, "is_current": address == current}
            for address, name in _NAVIGATION
        ]
    }
