"""Start, stop, pause and resume under /api/trading/algorithms/<id>; /api/trading/account and
/api/trading/kill-switch.
"""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.accounts.authentication import caller
from apps.algorithms.views import shown
from apps.core.api.idempotency import idempotent
from apps.core.api.serializers import EmptyBody
from apps.core.etags import tag_of
from apps.core.openapi import documented
from apps.trading import openapi, services
from apps.trading.serializers import (
    admitted_out,
    close_positions_in,
    emergency_in,
    statement_out,
    switch_out,
)
from apps.trading.services import StartResult


def _admitted(admitted: StartResult) -> Response:
    return Response(admitted_out(admitted), headers={"ETag": tag_of(admitted.algorithm.rev)})


class TradingView(ViewSet):
    @documented(openapi.START)
    @idempotent
    def start(self, request: Request, algorithm_id: str) -> Response:
        EmptyBody.read(request.data)
        admitted = services.start(
            owner=caller(request), algorithm_id=algorithm_id, now=timezone.now()
        )
        return _admitted(admitted)

    @documented(openapi.STOP)
    @idempotent
    def stop(self, request: Request, algorithm_id: str) -> Response:
        algorithm = services.stop(
            owner=caller(request),
            algorithm_id=algorithm_id,
            close_positions=close_positions_in(request.data),
            now=timezone.now(),
        )
        return shown(algorithm)

    @documented(openapi.PAUSE)
    @idempotent
    def pause(self, request: Request, algorithm_id: str) -> Response:
        EmptyBody.read(request.data)
        algorithm = services.pause(
            owner=caller(request), algorithm_id=algorithm_id, now=timezone.now()
        )
        return shown(algorithm)

    @documented(openapi.RESUME)
    @idempotent
    def resume(self, request: Request, algorithm_id: str) -> Response:
        EmptyBody.read(request.data)
        admitted = services.resume(
            owner=caller(request), algorithm_id=algorithm_id, now=timezone.now()
        )
        return _admitted(admitted)


class AccountView(ViewSet):
    @documented(openapi.READ_ACCOUNT)
    def show(self, request: Request) -> Response:
        statement = services.read_account(owner=caller(request), now=timezone.now())
        return Response(statement_out(statement))

    @documented(openapi.RESET_ACCOUNT)
    @idempotent
    def reset(self, request: Request) -> Response:
        EmptyBody.read(request.data)
        statement = services.reset_account(owner=caller(request), now=timezone.now())
        return Response(statement_out(statement))


class KillSwitchView(ViewSet):
    @documented(openapi.READ_SWITCH)
    def show(self, request: Request) -> Response:
        return Response(switch_out(services.read_switch(owner=caller(request))))

    @documented(openapi.TURN_ON)
    @idempotent
    def turn_on(self, request: Request) -> Response:
        emergency = emergency_in(request.data)
        switch = services.engage_kill_switch(
            owner=caller(request),
            reason=emergency.reason,
            close_positions=emergency.close_positions,
            now=timezone.now(),
        )
        return Response(switch_out(switch))

    @documented(openapi.TURN_OFF)
    def turn_off(self, request: Request) -> Response:
        services.release_kill_switch(owner=caller(request), now=timezone.now())
        return Response(status=204)
