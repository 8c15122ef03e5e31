"""Running algorithms on paper, the paper account, and the kill switch."""

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.algorithms.models import Algorithm, AlgorithmNotFound
from apps.algorithms.serializers import AlgorithmSerializer
from apps.core.api.resources import ETAG, NO_FIELDS, EmptyBody, OwnedViewSet, idempotent, refuses
from apps.core.errors import Code
from apps.core.requests import tag_of
from apps.trading import services
from apps.trading.runs.services import StartResult
from apps.trading.serializers import (
    AccountSerializer,
    EmergencySerializer,
    KillSwitchSerializer,
    StartedAlgorithmSerializer,
    StopSerializer,
)

RESUME_REFUSALS = (
    Code.INVALID_SYMBOL,
    Code.DAILY_LOSS_LIMIT,
    Code.ALGORITHM_INCOMPLETE,
    Code.POSITION_LIMIT_REACHED,
    Code.BROKER_RATE_LIMIT,
    Code.BROKER_CONNECTION_FAILED,
)
START_REFUSALS = (
    *RESUME_REFUSALS,
    Code.ALGORITHM_ALREADY_ACTIVE,
    Code.INSUFFICIENT_BALANCE,
)


def _answer(algorithm: Algorithm) -> Response:
    return Response(AlgorithmSerializer.render(algorithm), headers={"ETag": tag_of(algorithm.rev)})


def _started(result: StartResult) -> Response:
    return Response(
        StartedAlgorithmSerializer.render(result),
        headers={"ETag": tag_of(result.algorithm.rev)},
    )


@extend_schema(tags=["trading"])
class RunViewSet(OwnedViewSet):
    not_found = AlgorithmNotFound
    lookup_url_kwarg = "algorithm_id"

    @extend_schema(
        operation_id="startAlgorithm",
        parameters=[ETAG],
        request=NO_FIELDS,
        responses={200: StartedAlgorithmSerializer},
    )
    @refuses(*START_REFUSALS)
    @action(detail=True, methods=["post"])
    @idempotent
    def start(self, request: Request, algorithm_id: str) -> Response:
        """Start an algorithm.

        It begins a run of the present steps, which reserves `initialCapital` in the paper account
        until it has ended and holds nothing. The algorithm must be stopped or in error.
        """
        self.read(EmptyBody)
        return _started(services.start(owner=self.owner, algorithm_id=algorithm_id, now=self.now))

    @extend_schema(
        operation_id="stopAlgorithm",
        parameters=[ETAG],
        request=StopSerializer,
        responses={200: AlgorithmSerializer},
    )
    @action(detail=True, methods=["post"])
    @idempotent
    def stop(self, request: Request, algorithm_id: str) -> Response:
        """Stop an algorithm.

        Its run ends. Its positions are closed at their symbols' next open, unless `closePositions`
        is false. The algorithm must be active, paused or in error.
        """
        algorithm = services.stop(
            owner=self.owner, algorithm_id=algorithm_id, now=self.now, **self.read(StopSerializer)
        )
        return _answer(algorithm)

    @extend_schema(
        operation_id="pauseAlgorithm",
        parameters=[ETAG],
        request=NO_FIELDS,
        responses={200: AlgorithmSerializer},
    )
    @action(detail=True, methods=["post"])
    @idempotent
    def pause(self, request: Request, algorithm_id: str) -> Response:
        """Pause an algorithm.

        It takes no new entries; stops and targets still work. Its run continues and keeps its
        capital. The algorithm must be active.
        """
        self.read(EmptyBody)
        return _answer(services.pause(owner=self.owner, algorithm_id=algorithm_id, now=self.now))

    @extend_schema(
        operation_id="resumeAlgorithm",
        parameters=[ETAG],
        request=NO_FIELDS,
        responses={200: StartedAlgorithmSerializer},
    )
    @refuses(*RESUME_REFUSALS)
    @action(detail=True, methods=["post"])
    @idempotent
    def resume(self, request: Request, algorithm_id: str) -> Response:
        """Resume a paused algorithm.

        Its run continues with its capital and positions. A requested close that is not done yet is
        withdrawn.
        """
        self.read(EmptyBody)
        return _started(services.resume(owner=self.owner, algorithm_id=algorithm_id, now=self.now))


@extend_schema(tags=["trading"])
class AccountViewSet(OwnedViewSet):
    @extend_schema(operation_id="readAccount", responses={200: AccountSerializer})
    def retrieve(self, request: Request) -> Response:
        """Get the paper account.

        All amounts are in rupees. Capital reserved by runs is part of the balance, but not
        available to other runs.
        """
        statement = services.read_account(owner=self.owner, now=self.now)
        return Response(AccountSerializer.render(statement))

    @extend_schema(
        operation_id="resetAccount", request=NO_FIELDS, responses={200: AccountSerializer}
    )
    @idempotent
    def reset(self, request: Request) -> Response:
        """Reset the paper account, when nothing runs.

        It gets the balance of a new account. 422 while a run holds a part of it.
        """
        self.read(EmptyBody)
        statement = services.reset_account(owner=self.owner, now=self.now)
        return Response(AccountSerializer.render(statement))


@extend_schema(tags=["trading"])
class KillSwitchViewSet(OwnedViewSet):
    @extend_schema(operation_id="readKillSwitch", responses={200: KillSwitchSerializer})
    def retrieve(self, request: Request) -> Response:
        """Get the caller's kill switch.

        With its time and reason. The operators' switch, for all users, is not shown here.
        """
        return Response(KillSwitchSerializer.render(services.read_switch(owner=self.owner)))

    @extend_schema(
        operation_id="stopEverything",
        request=EmergencySerializer,
        responses={200: KillSwitchSerializer},
    )
    @idempotent
    def engage(self, request: Request) -> Response:
        """Pause every active algorithm, and refuse starts and resumes until the switch is off.

        With `closePositions` true all positions are closed too, each at its symbol's next open.
        """
        body = self.read(EmergencySerializer)
        switch = services.engage_kill_switch(
            owner=self.owner,
            reason=body.get("reason") or "",
            close_positions=body["close_positions"],
            now=self.now,
        )
        return Response(KillSwitchSerializer.render(switch))

    @extend_schema(operation_id="allowTrading", responses={204: None})
    def release(self, request: Request) -> Response:
        """Allow starts and resumes again.

        Paused algorithms stay paused until they are resumed. If the switch is off already, nothing
        changes and it is no error.
        """
        services.release_kill_switch(owner=self.owner, now=self.now)
        return Response(status=204)
