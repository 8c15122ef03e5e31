"""A completed backtest with changes."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.backtests.analysis.what_if import services
from apps.backtests.analysis.what_if.serializers import WhatIfRequestSerializer, WhatIfSerializer
from apps.backtests.analysis.what_if.services import (
    CannotSimulate,
    NotAPlainBacktest,
    TooLongAtOnce,
)
from apps.backtests.models import BacktestNotFound
from apps.backtests.running.estimates import TooManySeconds
from apps.backtests.running.results import NotCompleted
from apps.backtests.services import TooManyQueued
from apps.core.api.resources import OwnedViewSet, idempotent, refuses


@extend_schema(tags=["backtests"])
class WhatIfViewSet(OwnedViewSet):
    not_found = BacktestNotFound

    @extend_schema(
        operation_id="simulateChanges",
        request=WhatIfRequestSerializer,
        responses={200: WhatIfSerializer},
    )
    @refuses(
        NotCompleted,
        NotAPlainBacktest,
        TooLongAtOnce,
        CannotSimulate,
        TooManySeconds,
        TooManyQueued,
    )
    @idempotent
    def create(self, request: Request, backtest_id: str) -> Response:
        """Simulate a completed backtest at once with other limits, sizing, stops or charges.

        The answer has its metrics beside the stored ones. Nothing is stored except the trial, which
        evidence counts; `store` submits it as a backtest too.
        """
        changed: dict[str, Any] = self.read(WhatIfRequestSerializer)
        store = changed.pop("store")
        result = services.simulate_changes(
            owner=self.owner, backtest_id=backtest_id, changed=changed, store=store, now=self.now
        )
        return Response(WhatIfSerializer.render(result))
