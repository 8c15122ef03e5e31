"""The evidence on a backtest."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.backtests.analysis.evidence import services
from apps.backtests.analysis.evidence.serializers import EvidenceQuery, EvidenceSerializer
from apps.backtests.models import EVIDENCE_ENDED_CHANNEL, BacktestNotFound
from apps.backtests.prefer_wait import PREFERENCE_APPLIED, prefer_header, respond_when_ended
from apps.backtests.running.results import NotCompleted
from apps.core import database
from apps.core.api.resources import OwnedViewSet, refuses


@extend_schema(tags=["backtests"])
class EvidenceViewSet(OwnedViewSet):
    not_found = BacktestNotFound

    @extend_schema(
        operation_id="readEvidence",
        parameters=[
            EvidenceQuery,
            prefer_header("the evidence is ready or failed"),
            PREFERENCE_APPLIED,
        ],
        responses={200: EvidenceSerializer},
    )
    @refuses(NotCompleted)
    def retrieve(self, request: Request, backtest_id: str) -> Response:
        """Get the evidence on the result of a completed backtest.

        A verdict, the checks behind it, and sections with figures, their conclusion in a sentence,
        and the aspects not examined. The first request makes it, and it is stored; `Prefer: wait=N`
        waits for it. A request retries failed evidence after ten minutes.
        """
        as_of = self.query(EvidenceQuery).get("as_of")
        evidence = services.fetch_evidence(owner=self.owner, backtest_id=backtest_id, now=self.now)
        return respond_when_ended(
            evidence,
            headers=request.headers,
            channel=EVIDENCE_ENDED_CHANNEL,
            render=lambda current: EvidenceSerializer.render(
                services.dated_evidence(current, as_of=as_of, now=database.now())
            ),
        )
