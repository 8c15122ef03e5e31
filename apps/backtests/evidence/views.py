"""The evidence on a backtest."""

from datetime import date

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.backtests.evidence import services
from apps.backtests.evidence.serializers import EvidenceQuery, EvidenceSerializer
from apps.backtests.evidence.services import RequestedEvidence
from apps.backtests.models import BacktestNotFound, Evidence
from apps.backtests.prefer_wait import APPLIED, MAX_WAIT_SECONDS, parse_wait
from apps.backtests.results import NotCompleted
from apps.core import database_clock, long_poll
from apps.core.api import wire_json
from apps.core.api.schema import answer_header, refuses
from apps.core.api.views import OwnedViewSet
from apps.core.long_poll import LongPoll

PREFER_READY = OpenApiParameter(
    "Prefer",
    {"type": "string", "examples": ["wait=30"]},
    OpenApiParameter.HEADER,
    description="`wait=N` delays the answer until the evidence is ready or failed, by N seconds at"
    f" most; {MAX_WAIT_SECONDS} are the maximum.",
)


@extend_schema(tags=["backtests"])
class EvidenceViewSet(OwnedViewSet):
    not_found = BacktestNotFound

    @extend_schema(
        operation_id="readEvidence",
        parameters=[EvidenceQuery, PREFER_READY, answer_header("Preference-Applied")],
        responses={200: EvidenceSerializer},
    )
    @refuses(NotCompleted)
    def retrieve(self, request: Request, backtest_id: str) -> Response:
        """How far the result of a completed backtest can be trusted.

        A verdict, the checks behind it, and sections with figures, the sentence that they justify
        and what was not looked at. It is made when it is first asked for, in some seconds, and
        kept; `Prefer: wait=N` waits for it.
        """
        as_of = self.query(EvidenceQuery).get("as_of")
        requested = services.fetch(
            owner=self.owner, backtest_id=backtest_id, as_of=as_of, now=self.now
        )
        response = Response(EvidenceSerializer.render(requested))
        if seconds := parse_wait(request.headers.get("Prefer")):
            response[APPLIED] = f"wait={seconds}"
            _delay_until_ended(response, requested, as_of=as_of, seconds=seconds)
        return response


def _delay_until_ended(
    response: Response, requested: RequestedEvidence, *, as_of: date | None, seconds: int
) -> None:
    """Have the server delay this response until the evidence is ready or failed."""
    evidence = requested.evidence
    if evidence.has_ended:
        return

    def current() -> Evidence:
        row = Evidence.objects.select_related("backtest").filter(pk=evidence.pk).first()
        return row or evidence  # the backtest was deleted meanwhile

    def render() -> bytes:
        now = database_clock.now()
        return wire_json.dumps(
            EvidenceSerializer.render(services.dated(current(), as_of=as_of, now=now))
        )

    def is_over() -> bool:
        row = Evidence.objects.filter(pk=evidence.pk).first()
        return row is None or row.has_ended

    headers = {APPLIED: f"wait={seconds}"}
    channel = services.EVIDENCE_ENDED_CHANNEL
    long_poll.attach(response, LongPoll(channel, evidence.pk, seconds, is_over, render, headers))
