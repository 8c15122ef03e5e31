"""Files that operators send, and their reports, on the wire."""

from typing import Any

from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField, DateField, IntegerField

from apps.core.api.resources import (
    AnswerSerializer,
    ChoiceField,
    FlagField,
    TextField,
    UploadSerializer,
    example,
)
from apps.engine.candles import TIMEFRAMES
from apps.market.candles.price_kinds import PriceKind
from apps.market.importers import ImportOptions, StampSide
from apps.market.rulebook.calendars import calendars_of
from apps.market.serializers.candles import ParsedSymbolField
from apps.symbols.models import Source
from apps.symbols.services import symbol_finder


@example
class CandleFileSerializer(UploadSerializer):
    """A candle file, and facts that the file itself lacks."""

    symbol = ParsedSymbolField(
        exact=True, required=False, help_text="Read from the file by default."
    )
    timeframe = ChoiceField(
        choices=TIMEFRAMES, required=False, help_text="Read from the file by default."
    )
    stamps = ChoiceField(
        choices=[side.value for side in StampSide],
        required=False,
        help_text="The side of a candle that its time marks; by default from the session's hours.",
    )
    strict = FlagField(
        default=False,
        help_text="Refuse the file for a candle outside of the session, and for any faulty row;"
        " else faulty rows of a file of many symbols are left out.",
    )
    prices = ChoiceField(
        choices=[kind.value for kind in PriceKind],
        required=False,
        help_text=(
            "Whether prices are as traded or adjusted by their source, if no split or bonus"
            " proves it."
        ),
    )
    ignoreColumns = serializers.ListField(
        child=TextField(max_length=100),
        max_length=20,
        required=False,
        help_text="Columns that look like a volume, an instrument or an adjusted price and may be"
        " ignored.",
    )
    replace = FlagField(
        default=False,
        help_text="First drop the stored candles of the same symbols in the same timeframe.",
    )
    replaceSample = FlagField(
        default=False,
        help_text="Let the file replace a generated sample of the same symbols in the same"
        " timeframe; else it is refused.",
    )

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """Return the file as `upload`, its `options`, `prices`, `replace` and `replace_sample`."""
        body = super().read(data)
        names = ("symbol", "timeframe", "stamps", "strict")
        choices = {name: body[name] for name in names if name in body}
        if "stamps" in choices:
            choices["stamps"] = StampSide(choices["stamps"])
        options = ImportOptions(
            **choices,
            ignored_columns=tuple(body.get("ignore_columns", ())),
            find_symbol=symbol_finder(),
            calendars=calendars_of,
        )
        return {
            "upload": body["upload"],
            "replace": body["replace"],
            "replace_sample": body["replace_sample"],
            "options": options,
            "prices": PriceKind(body["prices"]) if "prices" in body else None,
        }


class CandleFileReportSerializer(AnswerSerializer):
    """The report on one file."""

    file = CharField(help_text="Its name, and the name of its archive.")
    lines = serializers.ListField(
        child=CharField(), help_text="The result for its rows, and oddities among them."
    )


@example
class CandleUploadSerializer(AnswerSerializer):
    """The changes from storing a candle file; for a check, the changes it would make."""

    stored = BooleanField(help_text="False of a check: nothing is stored.")
    fingerprint = CharField(
        help_text="The fingerprint of the file and its options; send it as `checked` to store them."
    )
    files = CandleFileReportSerializer(many=True, help_text="The file, or the files of an archive.")
    added = IntegerField(source="counts.added", help_text="New candles.")
    repeated = IntegerField(source="counts.repeated", help_text="Candles that are already stored.")
    replaced = IntegerField(source="counts.replaced", help_text="Candles stored with other prices.")
    dropped = IntegerField(
        source="counts.dropped",
        help_text="Candles that made room: of a generated sample, or by `replace`.",
    )


@example
class MasterSerializer(UploadSerializer):
    """An instrument master."""

    source_ = ChoiceField(
        choices=Source.values,
        required=False,
        help_text="The publisher of the list; by default recognised by its columns.",
    )
    asOf = DateField(required=False, help_text="The day that it describes, if that is not today.")
    force = FlagField(default=False, help_text="Import it even if it looks damaged.")

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """Return the file as `upload`, `source`, `as_of` and `force`."""
        body = super().read(data)
        source = Source(body["source"]) if "source" in body else None
        return {"as_of": None, **body, "source": source}


@example
class MasterUploadSerializer(AnswerSerializer):
    """The changes from importing an instrument master; for a check, the changes it would make."""

    stored = BooleanField(help_text="False of a check: nothing is stored.")
    fingerprint = CharField(
        help_text="The fingerprint of the file and its options; send it as `checked` to import."
    )
    source_ = ChoiceField(
        source="imported.master.source",
        choices=Source.values,
        help_text="The publisher of the list.",
    )
    asOf = DateField(source="imported.master.as_of", help_text="The day that it describes.")
    read_ = IntegerField(source="imported.master.read", help_text="Its rows.")
    added = IntegerField(source="imported.counts.added", help_text="Instruments that are new.")
    changed = IntegerField(
        source="imported.counts.changed", help_text="Instruments with changed facts."
    )
    unchanged = IntegerField(
        source="imported.unchanged", help_text="Instruments known as they are."
    )
    lines = serializers.ListField(
        child=CharField(),
        help_text="The result for its rows, and the lines of rows that were left out.",
    )
