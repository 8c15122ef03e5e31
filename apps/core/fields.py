"""How values leave the service."""

from datetime import datetime
from typing import Any

from rest_framework import serializers

from apps.core.times import wire_time


class UtcField(serializers.Field[datetime, datetime, str, Any]):
    """A moment as ISO 8601 in UTC with Z."""

    def to_representation(self, value: datetime) -> str:
        return wire_time(value)
