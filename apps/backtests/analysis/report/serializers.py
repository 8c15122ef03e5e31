"""Links to reports on the wire."""

from rest_framework import serializers

from apps.core.api.resources import (
    AnswerSerializer,
    IdTextField,
    MomentField,
    example,
)


@example
class ReportLinkSerializer(AnswerSerializer):
    """A link to a report."""

    id = IdTextField()
    url = serializers.URLField(
        help_text="Opens without a token; keep it to those who may see the report."
    )
    expiresAt = MomentField()
