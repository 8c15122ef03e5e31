"""POST /api/market/candle-files and /api/market/masters."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.calls import operator_of
from apps.core.api.resources import OwnedViewSet, idempotent, refuses
from apps.core.files import OtherFile
from apps.market.candles.writing import OtherPriceKind, SampleInTheWay
from apps.market.importers import BadCandleFile
from apps.market.serializers.uploads import (
    CandleFileSerializer,
    CandleUploadSerializer,
    MasterSerializer,
    MasterUploadSerializer,
)
from apps.market.uploads import services
from apps.symbols.importers import InvalidMaster, SuspiciousMaster


@extend_schema(tags=["market"])
class CandleFileViewSet(OwnedViewSet):
    @extend_schema(
        operation_id="uploadCandles",
        description="For operators. Without `checked` the file is checked, and nothing is stored;"
        " with the `fingerprint` that the check returned, the same file is stored: all of it, or"
        " nothing. The formats are those of `manage.py load_candles`, plain, as gzip or as zip; a"
        " refusal names the line.",
        request=CandleFileSerializer,
        responses={200: CandleUploadSerializer},
    )
    @refuses(OtherFile, BadCandleFile, OtherPriceKind, SampleInTheWay)
    @idempotent
    def create(self, request: Request) -> Response:
        """Check or store a candle file."""
        body = request.data  # invalid JSON is refused before the role is checked
        operator = operator_of(request)
        uploaded = services.upload_candles(
            operator=operator, **CandleFileSerializer.read(body), now=self.now
        )
        return Response(CandleUploadSerializer.render(uploaded))


@extend_schema(tags=["market"])
class MasterViewSet(OwnedViewSet):
    @extend_schema(
        operation_id="uploadMaster",
        description="For operators. Without `checked` the file is checked, and nothing is stored;"
        " with the `fingerprint` that the check returned, the same file is imported: all of it, or"
        " nothing. The lists are those of `manage.py seed_symbols`, plain, as gzip or as zip.",
        request=MasterSerializer,
        responses={200: MasterUploadSerializer},
    )
    @refuses(OtherFile, InvalidMaster, SuspiciousMaster)
    @idempotent
    def create(self, request: Request) -> Response:
        """Check or import an instrument master."""
        body = request.data  # invalid JSON is refused before the role is checked
        operator = operator_of(request)
        uploaded = services.upload_master(
            operator=operator, **MasterSerializer.read(body), now=self.now
        )
        return Response(MasterUploadSerializer.render(uploaded))
