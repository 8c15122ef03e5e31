"""`Prefer: wait=N` (RFC 7240): a response that is delayed until a backtest has ended."""

import re
from collections.abc import Callable
from typing import Final

from django.http import HttpResponse

from apps.backtests.models import ENDED, Backtest
from apps.backtests.serializers import WholeBacktestSerializer
from apps.core import long_poll
from apps.core.api import wire_json
from apps.core.long_poll import LongPoll

MAX_WAIT_SECONDS: Final = 30
# A trigger notifies this channel of the id of each backtest that ends (migration 0011).
BACKTEST_ENDED_CHANNEL: Final = "backtest_ended"
APPLIED: Final = "Preference-Applied"
_WAIT = re.compile(r'wait\s*=\s*"?([0-9]{1,9})"?')


def parse_wait(header: str | None) -> int:
    """Return how many seconds the client is ready to wait, at most MAX_WAIT_SECONDS; 0 for none.

    Unknown and malformed preferences are ignored, as the RFC requires; of several the first counts.
    """
    for preference in (header or "").split(","):
        if match := _WAIT.fullmatch(preference.partition(";")[0].strip().lower()):
            return min(int(match[1]), MAX_WAIT_SECONDS)
    return 0


def delay_until_ended(
    response: HttpResponse,
    backtest: Backtest,
    *,
    seconds: int,
    render: Callable[[Backtest], object] = WholeBacktestSerializer.render,
) -> None:
    """Have the server delay this response until the backtest has ended, `seconds` at most.

    `render` makes the body of the response then. When the backtest is deleted meanwhile, the
    response shows its last known state.
    """
    applied = f"wait={seconds}"
    if backtest.status in ENDED:
        response[APPLIED] = applied
        return

    def is_over() -> bool:
        unfinished = Backtest.objects.filter(pk=backtest.pk).exclude(status__in=ENDED)
        return not unfinished.exists()

    def render_current() -> bytes:
        current = Backtest.objects.filter(pk=backtest.pk).first() or backtest
        return wire_json.dumps(render(current))

    poll = LongPoll(
        BACKTEST_ENDED_CHANNEL, backtest.pk, seconds, is_over, render_current, {APPLIED: applied}
    )
    long_poll.attach(response, poll)
