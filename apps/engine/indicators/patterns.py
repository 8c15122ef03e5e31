"""Candle patterns: the table for the validator, the engine and its readers.

TA-Lib tells at each bar whether a pattern ends there: above 0 a bullish one, below 0 a bearish one.
Upside down, most patterns are the same with the other sign. Some have another name there. Some have
no direction and keep their sign. The others have only one direction, and never the opposite one.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict

from apps.engine.indicators.series import Series

Direction: TypeAlias = Literal["bullish", "bearish"]
Directions: TypeAlias = tuple[Direction, ...]

BULLISH: Final[Directions] = ("bullish",)
BEARISH: Final[Directions] = ("bearish",)
BOTH: Final[Directions] = ("bullish", "bearish")
NEITHER: Final[Directions] = ()


class Pattern(NamedTuple):
    """A pattern by TA-Lib's name, and its possible directions.

    Without any it has no direction, and TA-Lib marks it above 0. `inverted_name` is the pattern in
    a market upside down, if it is another.
    """

    name: str
    description: str
    directions: Directions
    inverted_name: str = ""

    @property
    def opposite(self) -> str:
        return self.inverted_name or self.name

    def to_wire(self) -> CataloguePattern:
        return CataloguePattern(
            pattern=self.name,
            description=self.description,
            directions=list(self.directions),
            opposite=self.opposite,
        )


_ROWS: Final = (
    Pattern("CDL2CROWS", "Two crows", BEARISH),
    Pattern("CDL3BLACKCROWS", "Three black crows", BEARISH, "CDL3WHITESOLDIERS"),
    Pattern("CDL3INSIDE", "Three inside up or down", BOTH),
    Pattern("CDL3LINESTRIKE", "Three-line strike", BOTH),
    Pattern("CDL3OUTSIDE", "Three outside up or down", BOTH),
    Pattern("CDL3STARSINSOUTH", "Three stars in the south", BULLISH),
    Pattern("CDL3WHITESOLDIERS", "Three white soldiers", BULLISH, "CDL3BLACKCROWS"),
    Pattern("CDLABANDONEDBABY", "Abandoned baby", BOTH),
    Pattern("CDLADVANCEBLOCK", "Advance block", BEARISH),
    Pattern("CDLBELTHOLD", "Belt-hold", BOTH),
    Pattern("CDLBREAKAWAY", "Breakaway", BOTH),
    Pattern("CDLCLOSINGMARUBOZU", "Closing marubozu", BOTH),
    Pattern("CDLCONCEALBABYSWALL", "Concealing baby swallow", BULLISH),
    Pattern("CDLCOUNTERATTACK", "Counterattack", BOTH),
    Pattern("CDLDARKCLOUDCOVER", "Dark cloud cover", BEARISH, "CDLPIERCING"),
    Pattern("CDLDOJI", "Doji", NEITHER),
    Pattern("CDLDOJISTAR", "Doji star", BOTH),
    Pattern("CDLDRAGONFLYDOJI", "Dragonfly doji", NEITHER, "CDLGRAVESTONEDOJI"),
    Pattern("CDLENGULFING", "Engulfing", BOTH),
    Pattern("CDLEVENINGDOJISTAR", "Evening doji star", BEARISH, "CDLMORNINGDOJISTAR"),
    Pattern("CDLEVENINGSTAR", "Evening star", BEARISH, "CDLMORNINGSTAR"),
    Pattern("CDLGAPSIDESIDEWHITE", "Side-by-side white lines after a gap", BOTH),
    Pattern("CDLGRAVESTONEDOJI", "Gravestone doji", NEITHER, "CDLDRAGONFLYDOJI"),
    Pattern("CDLHAMMER", "Hammer", BULLISH, "CDLSHOOTINGSTAR"),
    Pattern("CDLHANGINGMAN", "Hanging man", BEARISH, "CDLINVERTEDHAMMER"),
    Pattern("CDLHARAMI", "Harami", BOTH),
    Pattern("CDLHARAMICROSS", "Harami cross", BOTH),
    Pattern("CDLHIGHWAVE", "High-wave candle", BOTH),
    Pattern("CDLHIKKAKE", "Hikkake", BOTH),
    Pattern("CDLHIKKAKEMOD", "Modified hikkake", BOTH),
    Pattern("CDLHOMINGPIGEON", "Homing pigeon", BULLISH),
    Pattern("CDLIDENTICAL3CROWS", "Identical three crows", BEARISH),
    Pattern("CDLINNECK", "In-neck", BEARISH),
    Pattern("CDLINVERTEDHAMMER", "Inverted hammer", BULLISH, "CDLHANGINGMAN"),
    Pattern("CDLKICKING", "Kicking", BOTH),
    Pattern("CDLKICKINGBYLENGTH", "Kicking, of the direction of the longer candle", BOTH),
    Pattern("CDLLADDERBOTTOM", "Ladder bottom", BULLISH),
    Pattern("CDLLONGLEGGEDDOJI", "Long-legged doji", NEITHER),
    Pattern("CDLLONGLINE", "Long line", BOTH),
    Pattern("CDLMARUBOZU", "Marubozu", BOTH),
    Pattern("CDLMATCHINGLOW", "Matching low", BULLISH),
    Pattern("CDLMATHOLD", "Mat hold", BULLISH),
    Pattern("CDLMORNINGDOJISTAR", "Morning doji star", BULLISH, "CDLEVENINGDOJISTAR"),
    Pattern("CDLMORNINGSTAR", "Morning star", BULLISH, "CDLEVENINGSTAR"),
    Pattern("CDLONNECK", "On-neck", BEARISH),
    Pattern("CDLPIERCING", "Piercing", BULLISH, "CDLDARKCLOUDCOVER"),
    Pattern("CDLRICKSHAWMAN", "Rickshaw man", NEITHER),
    Pattern("CDLRISEFALL3METHODS", "Rising or falling three methods", BOTH),
    Pattern("CDLSEPARATINGLINES", "Separating lines", BOTH),
    Pattern("CDLSHOOTINGSTAR", "Shooting star", BEARISH, "CDLHAMMER"),
    Pattern("CDLSHORTLINE", "Short line", BOTH),
    Pattern("CDLSPINNINGTOP", "Spinning top", BOTH),
    Pattern("CDLSTALLEDPATTERN", "Stalled", BEARISH),
    Pattern("CDLSTICKSANDWICH", "Stick sandwich", BULLISH),
    Pattern("CDLTAKURI", "Takuri: a dragonfly doji with a very long lower shadow", BULLISH),
    Pattern("CDLTASUKIGAP", "Tasuki gap", BOTH),
    Pattern("CDLTHRUSTING", "Thrusting", BEARISH),
    Pattern("CDLTRISTAR", "Tristar", BOTH),
    Pattern("CDLUNIQUE3RIVER", "Unique three river", BULLISH),
    Pattern("CDLUPSIDEGAP2CROWS", "Upside gap two crows", BEARISH),
    Pattern("CDLXSIDEGAP3METHODS", "Upside or downside gap three methods", BOTH),
)
PATTERNS: Final[dict[str, Pattern]] = {row.name: row for row in _ROWS}
"""Every pattern of TA-Lib by its name."""

_Name: TypeAlias = Annotated[str, Field(json_schema_extra={"enum": list(PATTERNS)})]


class CataloguePattern(TypedDict):
    """A candle pattern of the catalogue."""

    pattern: _Name
    description: str
    directions: Annotated[
        list[Direction], Field(description="Its possible directions; empty: it has no direction.")
    ]
    opposite: Annotated[_Name, Field(description="The pattern for the short side.")]


def pattern_series(pattern: str) -> Series:
    return Series(pattern, ("open", "high", "low", "close"), ())


def inverted(pattern: str, sign: int) -> tuple[str, int]:
    """Return the pattern and the sign that replace these in a market upside down."""
    row = PATTERNS[pattern]
    return row.opposite, -sign if row.directions else sign
