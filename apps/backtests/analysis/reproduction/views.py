"""Complete receipts, and repeated backtests."""

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.backtests.analysis.reproduction import services
from apps.backtests.analysis.reproduction.serializers import (
    CompleteReceiptSerializer,
    ReproductionSerializer,
)
from apps.backtests.analysis.reproduction.services import NotAReproduction, Reproduction
from apps.backtests.models import BACKTEST_ENDED_CHANNEL, BacktestNotFound
from apps.backtests.prefer_wait import (
    PREFERENCE_APPLIED,
    respond_when_ended,
)
from apps.backtests.running.results import NotCompleted
from apps.backtests.services import TooManyQueued
from apps.backtests.views import PREFER
from apps.core.api.resources import NO_FIELDS, EmptyBody, OwnedViewSet, idempotent, refuses


@extend_schema(tags=["backtests"])
class ReproductionViewSet(OwnedViewSet):
    not_found = BacktestNotFound

    @extend_schema(operation_id="readReceipt", responses={200: CompleteReceiptSerializer})
    @refuses(NotCompleted)
    def receipt(self, request: Request, backtest_id: str) -> Response:
        """Get the receipt of a completed backtest, with its steps and its candles by month.

        `manage.py reproduce` repeats the backtest from this and a file of candles.
        """
        receipt = services.read_receipt(owner=self.owner, backtest_id=backtest_id)
        return Response(CompleteReceiptSerializer.render(receipt))

    @extend_schema(
        operation_id="reproduceBacktest",
        parameters=[PREFER, PREFERENCE_APPLIED],
        request=NO_FIELDS,
        responses={201: ReproductionSerializer},
    )
    @refuses(NotCompleted, TooManyQueued)
    def create(self, request: Request, backtest_id: str) -> Response | HttpResponse:
        """Run a completed backtest again.

        A new backtest with the same steps, range and seed reads the candles, charges and contracts
        stored now. Once it is completed, `comparison` has the differences between its receipt and
        the original's.
        """
        created = self._reproduce(request, backtest_id)
        if not isinstance(created, Response) or created.status_code != 201:
            return created  # a refusal waits for nothing
        reproduction = services.read_reproduction(
            owner=self.owner, backtest_id=created.data["backtestId"]
        )
        return self._when_ended(reproduction, status=201)

    # As for submissions: a replay is never the answer after a wait.
    create.is_idempotent = True  # type: ignore[attr-defined]

    @idempotent
    def _reproduce(self, request: Request, backtest_id: str) -> Response:
        self.read(EmptyBody)
        reproduction = services.reproduce(owner=self.owner, backtest_id=backtest_id, now=self.now)
        return Response(ReproductionSerializer.render(reproduction), status=201)

    @extend_schema(
        operation_id="readReproduction",
        parameters=[PREFER, PREFERENCE_APPLIED],
        responses={200: ReproductionSerializer},
    )
    @refuses(NotAReproduction)
    def retrieve(self, request: Request, backtest_id: str) -> Response:
        """Compare a repeated backtest with its original.

        `backtest_id` is the id of the new one. 422 if it does not repeat another, or the original
        is deleted.
        """
        reproduction = services.read_reproduction(owner=self.owner, backtest_id=backtest_id)
        return self._when_ended(reproduction, status=200)

    def _when_ended(self, reproduction: Reproduction, *, status: int) -> Response:
        """Answer the reproduction now, or in its state after the wait that the client prefers."""
        return respond_when_ended(
            reproduction.backtest,
            headers=self.request.headers,
            channel=BACKTEST_ENDED_CHANNEL,
            render=lambda backtest: ReproductionSerializer.render(
                services.reproduction_of(backtest, reproduction.original)
            ),
            status=status,
        )
