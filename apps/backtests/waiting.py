"""`Prefer: wait=N` (RFC 7240): an answer that is held until a backtest has ended."""

import re
from typing import Final

from django.http import HttpResponse

from apps.backtests.lifecycle import ENDED
from apps.backtests.models import Backtest
from apps.backtests.serializers import whole_out
from apps.core import long_poll
from apps.core.api import wire_json
from apps.core.long_poll import LongPoll

MOST_SECONDS: Final = 30
CHANNEL: Final = "backtest_ended"
"""A trigger of the table notifies it of the id of each backtest that ends (migration 0011)."""
APPLIED: Final = "Preference-Applied"
_WAIT = re.compile(r'wait\s*=\s*"?([0-9]{1,9})"?')


def seconds_preferred(header: str | None) -> int:
    """How long a client is ready to wait, at most MOST_SECONDS; 0 for none.

    Preferences that are unknown or malformed are ignored, as the RFC asks; of several the first
    counts.
    """
    for preference in (header or "").split(","):
        if found := _WAIT.fullmatch(preference.partition(";")[0].strip().lower()):
            return min(int(found[1]), MOST_SECONDS)
    return 0


def hold(response: HttpResponse, backtest: Backtest, *, seconds: int) -> None:
    """Have the server hold this answer until the backtest has ended, `seconds` at most.

    When it is deleted meanwhile, the answer is what it was.
    """
    applied = f"wait={seconds}"
    if backtest.status in ENDED:
        response[APPLIED] = applied
        return

    def is_over() -> bool:
        unfinished = Backtest.objects.filter(pk=backtest.pk).exclude(status__in=ENDED)
        return not unfinished.exists()

    def render() -> bytes:
        current = Backtest.objects.filter(pk=backtest.pk).first() or backtest
        return wire_json.dumps(whole_out(current))

    poll = LongPoll(CHANNEL, backtest.pk, seconds, is_over, render, {APPLIED: applied})
    long_poll.attach(response, poll)
