from datetime import datetime

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.accounts.authentication import caller
from apps.algorithms import openapi, services
from apps.algorithms.lifecycle import LISTED
from apps.algorithms.models import Algorithm
from apps.algorithms.serializers import (
    SORTS,
    alerts_in,
    alerts_out,
    algorithm_out,
    change_out,
    changes_in,
    indicator_out,
    item_out,
    name_in,
    pattern_out,
    performance_out,
    review_out,
    saved_out,
    template_out,
    version_out,
)
from apps.algorithms.steps import STRATEGY_TYPES
from apps.core.api.idempotency import idempotent
from apps.core.api.pagination import Query, page_of, page_with
from apps.core.api.serializers import EmptyBody
from apps.core.etags import expected, tag_of
from apps.core.openapi import documented
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.patterns import PATTERNS


def shown(algorithm: Algorithm) -> Response:
    """The algorithm as it is now, with the ETag that a write may name in If-Match."""
    return Response(algorithm_out(algorithm), headers={"ETag": tag_of(algorithm.rev)})


def saved(algorithm: Algorithm, *, now: datetime, status: int = 200) -> Response:
    """The algorithm as it was saved, with what it lacks and what is probably not meant."""
    review = services.review(algorithm=algorithm, now=now)
    return Response(
        saved_out(algorithm, review), status=status, headers={"ETag": tag_of(algorithm.rev)}
    )


class AlgorithmView(ViewSet):
    @documented(openapi.LIST)
    def list(self, request: Request) -> Response:
        query = Query(request.query_params)
        rows = services.listed(
            owner=caller(request),
            status=query.choice("status", LISTED),
            strategy_type=query.choice("strategyType", STRATEGY_TYPES),
            ordering=query.ordering(SORTS, default="createdAt"),
        )
        return Response(page_of(rows, query.page(), item_out))

    @documented(openapi.CREATE)
    @idempotent
    def create(self, request: Request) -> Response:
        now = timezone.now()
        algorithm = services.create(
            owner=caller(request), changes=changes_in(request.data), now=now
        )
        return saved(algorithm, now=now, status=201)

    @documented(openapi.READ)
    def show(self, request: Request, algorithm_id: str) -> Response:
        algorithm = services.read(owner=caller(request), algorithm_id=algorithm_id)
        return shown(algorithm)

    @documented(openapi.UPDATE)
    def update(self, request: Request, algorithm_id: str) -> Response:
        """PUT and PATCH alike: what is sent replaces, what is absent stays."""
        now = timezone.now()
        algorithm = services.update(
            owner=caller(request),
            algorithm_id=algorithm_id,
            changes=changes_in(request.data),
            now=now,
            expected=expected(request.headers),
        )
        return saved(algorithm, now=now)

    @documented(openapi.ARCHIVE)
    def archive(self, request: Request, algorithm_id: str) -> Response:
        services.archive(
            owner=caller(request),
            algorithm_id=algorithm_id,
            now=timezone.now(),
            expected=expected(request.headers),
        )
        return Response(status=204)

    @documented(openapi.CLONE)
    @idempotent
    def clone(self, request: Request, algorithm_id: str) -> Response:
        now = timezone.now()
        algorithm = services.clone(
            owner=caller(request), algorithm_id=algorithm_id, name=name_in(request.data), now=now
        )
        return saved(algorithm, now=now, status=201)

    @documented(openapi.VALIDATE)
    @idempotent
    def validate(self, request: Request, algorithm_id: str) -> Response:
        EmptyBody.read(request.data)
        review = services.validate(
            owner=caller(request), algorithm_id=algorithm_id, now=timezone.now()
        )
        return Response(review_out(review))

    @documented(openapi.VERSIONS)
    def versions(self, request: Request, algorithm_id: str) -> Response:
        page = Query(request.query_params).page()
        rows = services.versions(owner=caller(request), algorithm_id=algorithm_id)
        return Response(page_of(rows, page, version_out))

    @documented(openapi.HISTORY)
    def history(self, request: Request, algorithm_id: str) -> Response:
        page = Query(request.query_params).page()
        rows = services.history(owner=caller(request), algorithm_id=algorithm_id)
        return Response(page_of(rows, page, change_out))


class PerformanceView(ViewSet):
    @documented(openapi.READ_PERFORMANCE)
    def show(self, request: Request, algorithm_id: str) -> Response:
        algorithm = services.read(owner=caller(request), algorithm_id=algorithm_id)
        return Response(performance_out(algorithm))

    @documented(openapi.READ_ALERTS)
    def alerts(self, request: Request, algorithm_id: str) -> Response:
        algorithm = services.read(owner=caller(request), algorithm_id=algorithm_id)
        return Response(alerts_out(algorithm))

    @documented(openapi.SET_ALERTS)
    def set_alerts(self, request: Request, algorithm_id: str) -> Response:
        algorithm = services.set_alerts(
            owner=caller(request),
            algorithm_id=algorithm_id,
            alerts=alerts_in(request.data),
            now=timezone.now(),
        )
        return Response(alerts_out(algorithm))


class LibraryView(ViewSet):
    """What an algorithm can be made from."""

    @documented(openapi.TEMPLATES)
    def templates(self, request: Request) -> Response:
        page = Query(request.query_params).page()
        return Response(page_of(services.templates(viewer=caller(request)), page, template_out))

    @documented(openapi.INDICATORS)
    def indicators(self, request: Request) -> Response:
        page = Query(request.query_params).page()
        data = [indicator_out(row) for row in list(CATALOGUE.values())[page.rows]]
        patterns = [pattern_out(row) for row in PATTERNS.values()]
        listed = page_with(data, page, total=len(CATALOGUE))
        return Response({**listed, "candlePatterns": patterns})
