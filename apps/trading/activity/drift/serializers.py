"""Drift on the wire: the differences between a session's paper trading and its backtest."""

from collections.abc import Iterator
from typing import Any

from rest_framework.serializers import CharField, DateField, IntegerField

from apps.core.api.resources import (
    AnswerSerializer,
    ChoiceField,
    DocumentSerializer,
    IdTextField,
    MomentField,
    NumberField,
    QueryDateField,
    RecordField,
    StrictSerializer,
    example,
)
from apps.core.times import moment, wire_time
from apps.engine.results import round_for_wire
from apps.trading.activity.drift.bands import BandStatus, ReturnBand
from apps.trading.activity.drift.facts import FACTS, DifferenceKind
from apps.trading.activity.drift.services import Drift


@example
class DriftQuery(StrictSerializer):
    """The session of the drift report."""

    date = QueryDateField(
        required=False, help_text="The session in Asia/Kolkata; without it the last one."
    )


class DifferenceSerializer(DocumentSerializer):
    """A difference between the backtester and the paper trading."""

    kind = ChoiceField(
        choices=DifferenceKind,
        help_text="The kind; `data`: a candle came late, was changed or is missing; `risk`:"
        " a person or a limit intervened.",
    )
    time = MomentField(help_text="Start of the candle.")
    symbol = CharField()
    what = CharField(help_text="The candle, the signal, or the side of the fill.")
    expected = RecordField(
        *FACTS, allow_null=True, help_text="The backtester's result; null without one."
    )
    actual = RecordField(
        *FACTS, allow_null=True, help_text="The result on paper; null without one."
    )
    reason = CharField(
        allow_null=True,
        help_text="For `risk`: the intervention, here or earlier in the session.",
    )
    runId = IdTextField()
    checkedAt = MomentField()


class ReturnBandSerializer(DocumentSerializer):
    """The comparison of a run's returns with its backtest."""

    status = ChoiceField(
        choices=BandStatus,
        help_text="The growth relative to the band; `unknown`: too little data.",
    )
    sentence = CharField(help_text="The comparison in a sentence.")
    sessions = IntegerField(
        min_value=0, help_text="The number of sessions from the start of the run to this one."
    )
    growth = NumberField(
        allow_null=True, help_text="The growth of the run's equity since its start, as a fraction."
    )
    lower = NumberField(
        allow_null=True,
        help_text="Between this and `upper` lie 90 % of the paths that are drawn from the daily"
        " returns of the backtest (stationary bootstrap).",
    )
    upper = NumberField(allow_null=True)
    backtestId = CharField(
        allow_null=True, help_text="The newest completed backtest of exactly the run's steps."
    )

    def to_representation(self, instance: ReturnBand) -> dict[str, Any]:
        return {
            "status": instance.status.value,
            "sentence": instance.sentence,
            "sessions": instance.sessions,
            **round_for_wire(
                {"growth": instance.growth, "lower": instance.lower, "upper": instance.upper}
            ),
            "backtestId": instance.backtest_id,
        }


@example
class DriftSerializer(AnswerSerializer):
    """The comparison of an algorithm's paper trading with the backtester, for one session."""

    date = DateField(allow_null=True, help_text="Null if the algorithm has not traded yet.")
    status = ChoiceField(
        choices=("checked", "waiting", "no_session"),
        help_text="`waiting`: it is being compared, or again with the candles since `through`: ask"
        " again in a moment; `no_session`: the algorithm did not trade on that date.",
    )
    through = MomentField(
        allow_null=True,
        help_text=(
            "The start of the last compared candle of a session under way; null if the"
            " session is over."
        ),
    )
    rows = IntegerField(min_value=0, help_text="Rows of candles that were simulated again.")
    total = IntegerField(
        min_value=0, help_text="All differences; the first 1,000 of a run are listed."
    )
    differences = DifferenceSerializer(many=True)
    band = ReturnBandSerializer(
        help_text="The band of its last run, at the end of that session or at its present point."
    )

    def to_representation(self, instance: Drift) -> dict[str, Any]:
        reports = instance.reports
        status = "checked" if reports else "no_session"
        # Of the run that has come least far.
        through = min((r.through for r in reports if r.through is not None), default=None)
        return {
            "date": instance.day.isoformat() if instance.day else None,
            "status": "waiting" if instance.waiting else status,
            "through": None if through is None else wire_time(moment(through)),
            "rows": sum(report.rows for report in reports),
            "total": sum(report.total for report in reports),
            "differences": list(_differences(instance)),
            "band": ReturnBandSerializer.render(instance.band),
        }


def _differences(drift: Drift) -> Iterator[dict[str, Any]]:
    for report in drift.reports:
        for difference in report.differences:
            yield {
                **round_for_wire(difference),
                "reason": difference["reason"],
                "runId": report.run_id,
                "time": wire_time(moment(difference["time"])),
                "checkedAt": wire_time(report.checked_at),
            }
