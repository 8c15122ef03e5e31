"""/api/trading: algorithms, their versions, alerts and performance, templates, the catalogue of
indicators.
"""

from datetime import datetime
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.algorithms import services
from apps.algorithms.configuration import STEPS
from apps.algorithms.models import Algorithm, AlgorithmNotFound
from apps.algorithms.serializers import (
    SORTS,
    VERSION_NUMBER,
    AlertsSerializer,
    AlgorithmBodySerializer,
    AlgorithmCopySerializer,
    AlgorithmItemSerializer,
    AlgorithmQuery,
    AlgorithmSerializer,
    CatalogueIndicatorSerializer,
    CataloguePageSerializer,
    IssuesSerializer,
    PerformanceRecordSerializer,
    ReviewSerializer,
    SavedAlgorithmSerializer,
    StatusChangeSerializer,
    SummarySerializer,
    TemplateSerializer,
    VersionSerializer,
    VersionSummaryQuery,
    VersionSummarySerializer,
)
from apps.core.api.resources import (
    AFTER,
    ETAG,
    IF_MATCH,
    IF_NONE_MATCH,
    NO_FIELDS,
    EmptyBody,
    GrowingList,
    OwnedViewSet,
    growing,
    idempotent,
    ordering,
    refuses,
)
from apps.core.errors import NotFound, PreconditionFailed
from apps.core.limits import QuotaExceeded
from apps.core.requests import tag_of
from apps.engine.language import CATALOGUE, PATTERNS


def answer_with(algorithm: Algorithm) -> Response:
    """Answer the current algorithm, with the ETag that a write may send in If-Match."""
    return Response(AlgorithmSerializer.render(algorithm), headers={"ETag": tag_of(algorithm.rev)})


def saved(algorithm: Algorithm, *, now: datetime, status: int = 200) -> Response:
    """Answer the saved algorithm, with its missing parts and warnings."""
    review = services.review(algorithm=algorithm, now=now)
    return Response(
        {**AlgorithmSerializer.render(algorithm), **IssuesSerializer.render(review)},
        status=status,
        headers={"ETag": tag_of(algorithm.rev)},
    )


@extend_schema(tags=["algorithms"])
class AlgorithmViewSet(OwnedViewSet):
    not_found = AlgorithmNotFound
    lookup_url_kwarg = "algorithm_id"

    @extend_schema(
        operation_id="listAlgorithms",
        parameters=[AlgorithmQuery, AFTER],
        responses=AlgorithmItemSerializer(many=True),
    )
    def list(self, request: Request) -> Response:
        """List the caller's algorithms.

        Without their steps, which the call for one algorithm returns, and without deleted ones.
        """
        query = self.query(AlgorithmQuery)
        rows = services.listed(
            owner=self.owner,
            statuses=[query["status"]] if "status" in query else (),
            strategy_type=query.get("strategy_type"),
            ordering=ordering(query, SORTS),
        )
        among = services.listed(owner=self.owner, ordering=())
        source = growing(rows, query, SORTS, among=among, newest="created_at")
        return self.page(source, AlgorithmItemSerializer)

    @extend_schema(
        operation_id="createAlgorithm",
        parameters=[ETAG],
        request=AlgorithmBodySerializer,
        responses={201: SavedAlgorithmSerializer},
    )
    @idempotent
    def create(self, request: Request) -> Response:
        """Create an algorithm.

        It is `stopped`, ready to run, once its steps are complete, and a `draft` before. `{}` makes
        an empty draft.
        """
        algorithm = services.create(
            owner=self.owner, changes=AlgorithmBodySerializer.read(request.data), now=self.now
        )
        return saved(algorithm, now=self.now, status=201)

    @extend_schema(
        operation_id="readAlgorithm",
        parameters=[IF_NONE_MATCH, ETAG],
        responses={200: AlgorithmSerializer, 304: None},
    )
    def retrieve(self, request: Request, algorithm_id: str) -> Response:
        """Get an algorithm.

        Its steps are as they were sent. A change may send the ETag in If-Match.
        """
        return answer_with(services.read(owner=self.owner, algorithm_id=algorithm_id))

    @extend_schema(
        operation_id="putAlgorithm",
        parameters=[IF_MATCH, ETAG],
        request=AlgorithmBodySerializer,
        responses={200: SavedAlgorithmSerializer},
    )
    @refuses(PreconditionFailed, QuotaExceeded)
    def update(self, request: Request, algorithm_id: str) -> Response:
        """Change an algorithm.

        PUT and PATCH are the same: a field or step that is sent replaces the old one, absent ones
        stay. 403 while it is active or paused.
        """
        algorithm = services.update(
            owner=self.owner,
            algorithm_id=algorithm_id,
            changes=AlgorithmBodySerializer.read(request.data),
            now=self.now,
            expected=self.if_match,
        )
        return saved(algorithm, now=self.now)

    @extend_schema(
        operation_id="updateAlgorithm",
        parameters=[IF_MATCH, ETAG],
        request=AlgorithmBodySerializer,
        responses={200: SavedAlgorithmSerializer},
    )
    @refuses(PreconditionFailed, QuotaExceeded)
    def partial_update(self, request: Request, algorithm_id: str) -> Response:
        """Change an algorithm.

        PUT and PATCH are the same: a field or step that is sent replaces the old one, absent ones
        stay. 403 while it is active or paused.
        """
        return self.update(request, algorithm_id)

    @extend_schema(operation_id="archiveAlgorithm", parameters=[IF_MATCH], responses={204: None})
    @refuses(PreconditionFailed)
    def destroy(self, request: Request, algorithm_id: str) -> Response:
        """Delete an algorithm.

        It is archived and no longer shown; its backtests stay. 403 while it is active or paused.
        """
        services.archive(
            owner=self.owner, algorithm_id=algorithm_id, now=self.now, expected=self.if_match
        )
        return Response(status=204)

    @extend_schema(
        operation_id="cloneAlgorithm",
        parameters=[ETAG],
        request=AlgorithmCopySerializer,
        responses={201: SavedAlgorithmSerializer},
    )
    @action(detail=True, methods=["post"])
    @idempotent
    def clone(self, request: Request, algorithm_id: str) -> Response:
        """Copy an algorithm of the caller, a public template, or a built-in one.

        Steps, description and the configurations of studies are copied; results are not. The copy
        is private until it is made a public template.
        """
        body = self.read(AlgorithmCopySerializer)
        algorithm = services.clone(
            owner=self.owner, algorithm_id=algorithm_id, name=body.get("name"), now=self.now
        )
        return saved(algorithm, now=self.now, status=201)

    @extend_schema(
        operation_id="validateAlgorithm", request=NO_FIELDS, responses={200: ReviewSerializer}
    )
    @action(detail=True, methods=["post"])
    @idempotent
    def validate(self, request: Request, algorithm_id: str) -> Response:
        """Check an algorithm for missing parts and warnings.

        Nothing is changed.
        """
        self.read(EmptyBody)
        algorithm = services.read(owner=self.owner, algorithm_id=algorithm_id)
        review = services.validate(
            owner_id=self.owner.pk, steps=algorithm.configuration, now=self.now
        )
        return Response(ReviewSerializer.render(review))

    @extend_schema(
        operation_id="validateSteps",
        request=AlgorithmBodySerializer,
        responses={200: ReviewSerializer},
    )
    @action(detail=False, methods=["post"], url_path="validate")
    @idempotent
    def validate_steps(self, request: Request) -> Response:
        """Check the steps of an algorithm that is not stored.

        The body is that of a new algorithm. Nothing is stored, and errors in steps are listed where
        a new algorithm would be refused. An API key needs the scope `read`.
        """
        sent = AlgorithmBodySerializer.read(request.data)
        steps = {name: sent.get(column, {}) for name, column in STEPS.items()}
        review = services.validate(owner_id=self.owner.pk, steps=steps, now=self.now)
        return Response(ReviewSerializer.render(review))

    @extend_schema(operation_id="listVersions", responses=VersionSerializer(many=True))
    @action(detail=True)
    def versions(self, request: Request, algorithm_id: str) -> Response:
        """List the versions of an algorithm, newest first.

        Each has all of its steps; `current` marks the version that a start would run. Name,
        description and alerts are not part of a version.
        """
        rows = services.versions(owner=self.owner, algorithm_id=algorithm_id)
        return self.page(rows, VersionSerializer)

    @extend_schema(operation_id="summarizeAlgorithm", responses={200: SummarySerializer})
    @action(detail=True)
    def summary(self, request: Request, algorithm_id: str) -> Response:
        """Describe an algorithm in plain English.

        A sentence for every setting, defaults included; an incomplete step names its missing parts.
        """
        summary = services.summary(owner=self.owner, algorithm_id=algorithm_id)
        return Response(SummarySerializer.render(summary))

    @extend_schema(
        operation_id="summarizeVersion",
        parameters=[
            VersionSummaryQuery,
            OpenApiParameter(
                "number",
                VERSION_NUMBER,
                OpenApiParameter.PATH,
                description="The number of the version.",
            ),
        ],
        responses={200: VersionSummarySerializer},
    )
    @refuses(NotFound)
    @action(detail=True, url_path="versions/<int:number>/summary")
    def version_summary(self, request: Request, algorithm_id: str, number: int) -> Response:
        """Describe a version in plain English, and its changes since another version.

        Conditions are listed if only one of the two has them. 404 for an unknown version.
        """
        summary = services.version_summary(
            owner=self.owner,
            algorithm_id=algorithm_id,
            number=number,
            since=self.query(VersionSummaryQuery).get("since"),
        )
        return Response(VersionSummarySerializer.render(summary))

    @extend_schema(operation_id="listStatusChanges", responses=StatusChangeSerializer(many=True))
    @action(detail=True)
    def history(self, request: Request, algorithm_id: str) -> Response:
        """List the changes of the status, newest first.

        Each has its reason and its author: the id of the user, or `system`.
        """
        rows = services.history(owner=self.owner, algorithm_id=algorithm_id)
        return self.page(rows, StatusChangeSerializer)

    @extend_schema(
        operation_id="readTradingPerformance", responses={200: PerformanceRecordSerializer}
    )
    @action(detail=True)
    def performance(self, request: Request, algorithm_id: str) -> Response:
        """Get the performance of an algorithm on paper.

        A ratio without a denominator is null, and 0 before the first closed trade.
        """
        algorithm = services.read(owner=self.owner, algorithm_id=algorithm_id)
        return Response(PerformanceRecordSerializer.render(algorithm))


@extend_schema(tags=["algorithms"])
class PerformanceViewSet(OwnedViewSet):
    """The same performance at its own address, and its alerts."""

    not_found = AlgorithmNotFound
    lookup_url_kwarg = "algorithm_id"

    @extend_schema(operation_id="readPerformance", responses={200: PerformanceRecordSerializer})
    @action(detail=True)
    def performance(self, request: Request, algorithm_id: str) -> Response:
        """Get the performance of an algorithm on paper.

        A ratio without a denominator is null, and 0 before the first closed trade.
        """
        algorithm = services.read(owner=self.owner, algorithm_id=algorithm_id)
        return Response(PerformanceRecordSerializer.render(algorithm))

    @extend_schema(operation_id="readAlerts", responses={200: AlertsSerializer})
    @action(detail=True, url_path="performance/alerts")
    def alerts(self, request: Request, algorithm_id: str) -> Response:
        """Get the performance alerts, which notify the owner or pause the algorithm.

        At most one for each of three metrics of the performance. An alert is raised each time its
        metric reaches the threshold.
        """
        algorithm = services.read(owner=self.owner, algorithm_id=algorithm_id)
        return Response(AlertsSerializer.render({"alerts": algorithm.alerts}))

    @extend_schema(
        operation_id="setAlerts", request=AlertsSerializer, responses={200: AlertsSerializer}
    )
    @alerts.mapping.put
    def set_alerts(self, request: Request, algorithm_id: str) -> Response:
        """Replace all alerts.

        A metric that is not sent has no alert afterwards. Any status allows it, and version and
        ETag stay.
        """
        algorithm = services.set_alerts(
            owner=self.owner,
            algorithm_id=algorithm_id,
            alerts=self.read(AlertsSerializer)["alerts"],
            now=self.now,
        )
        return Response(AlertsSerializer.render({"alerts": algorithm.alerts}))


@extend_schema(tags=["algorithms"])
class TemplateViewSet(OwnedViewSet):
    @extend_schema(
        operation_id="listTemplates",
        parameters=[AFTER],
        responses=TemplateSerializer(many=True),
    )
    def list(self, request: Request) -> Response:
        """List algorithms to copy: public ones of all users, the caller's own, and built-in ones.

        The newest of users first, with their steps. Of an owner only the display name is shown.
        The built-in templates belong to no user and follow, in an order of their own.
        """
        rows = services.templates(viewer=self.owner)
        tail = [template.row for template in services.BUILT_IN_TEMPLATES]
        return self.page(GrowingList(rows, rows, "created_at", tail), TemplateSerializer)


@extend_schema(tags=["algorithms"])
class IndicatorViewSet(OwnedViewSet):
    @extend_schema(
        operation_id="listIndicators",
        responses={200: CataloguePageSerializer},
    )
    def list(self, request: Request) -> Response:
        """List the catalogue of indicators and candle patterns.

        The first output and the first source are the defaults. On the short side of an algorithm
        that trades both sides, `opposite` replaces the output or pattern, and a level becomes its
        `mirror`.
        """
        indicators = [indicator.to_wire() for indicator in CATALOGUE.values()]
        answer = self.page(indicators, CatalogueIndicatorSerializer)
        patterns = [pattern.to_wire() for pattern in PATTERNS.values()]
        data: dict[str, Any] = answer.data
        return Response({**data, "candlePatterns": patterns})
