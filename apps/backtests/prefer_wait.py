"""`Prefer: wait=N` (RFC 7240): a response that is delayed until a row has ended."""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from drf_spectacular.utils import OpenApiParameter
from rest_framework.response import Response

from apps.backtests.models import Backtest, Evidence
from apps.core import requests
from apps.core.api.resources import answer_header
from apps.core.requests import LongPoll

MAX_WAIT_SECONDS: Final = 30
PREFERENCE_APPLIED: Final = answer_header("Preference-Applied")
_WAIT = re.compile(r'wait\s*=\s*"?([0-9]{1,9})"?')

Pending = TypeVar("Pending", Backtest, Evidence)


def prefer_header(end: str) -> OpenApiParameter:
    """Return the parameter of a call that can wait until `end`."""
    return OpenApiParameter(
        "Prefer",
        {"type": "string", "examples": ["wait=30"]},
        OpenApiParameter.HEADER,
        description=f"`wait=N` delays the answer until {end}, by N seconds at most;"
        f" {MAX_WAIT_SECONDS} are the maximum.",
    )


def parse_wait(header: str | None) -> int:
    """Return the seconds that the client is ready to wait, at most MAX_WAIT_SECONDS; 0 for none.

    Unknown and malformed preferences are ignored, as the RFC requires; of several the first counts.
    """
    for preference in (header or "").split(","):
        if match := _WAIT.fullmatch(preference.partition(";")[0].strip().lower()):
            return min(int(match[1]), MAX_WAIT_SECONDS)
    return 0


def respond_when_ended(
    row: Pending,
    *,
    headers: Mapping[str, str],
    channel: str,
    render: Callable[[Pending], object],
    status: int = 200,
) -> Response:
    """Answer the row in its present state or, after the wait that the client prefers, in its state
    then.

    `channel` is notified of the row's key when it ends. If the row is deleted meanwhile, the
    response shows its last known state.
    """
    response = Response(render(row), status=status)
    seconds = parse_wait(headers.get("Prefer"))
    if not seconds:
        return response
    applied = f"wait={seconds}"
    if row.has_ended:
        response["Preference-Applied"] = applied
        return response
    rows = type(row).objects.filter(pk=row.pk)

    def is_over() -> bool:
        current = rows.only("status").first()
        return current is None or current.has_ended

    def render_current() -> bytes:
        return requests.dump_json(render(rows.first() or row))

    headers_then = {"Preference-Applied": applied}
    poll = LongPoll(channel, row.pk, seconds, is_over, render_current, headers_then)
    requests.attach_long_poll(response, poll)
    return response
