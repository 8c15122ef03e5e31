"""Links to reports on the wire."""

from rest_framework import serializers

from apps.core.api.resources import (
    ID_EXAMPLE,
    MOMENT_EXAMPLE,
    AnswerSerializer,
    IdTextField,
    MomentField,
    example,
)


@example(
    {
        "id": ID_EXAMPLE,
        "url": "https://algotrade.example.com/reports/"
        "6a0ec3f1b2d4e5f60718293a.3gGhKxYv0mE5rT1nWq8ZsUo7pLcJdBfA2iHk4tVyXeM",
        "expiresAt": MOMENT_EXAMPLE,
    }
)
class ReportLinkSerializer(AnswerSerializer):
    """A link to a report."""

    id = IdTextField()
    url = serializers.URLField(
        help_text="Opens without a token; keep it to those who may see the report."
    )
    expiresAt = MomentField()
