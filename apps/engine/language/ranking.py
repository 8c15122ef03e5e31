"""Ranking: the symbols of an algorithm compared with each other at the close of a row."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, model_validator

from apps.engine.language.fields import Maybe, StrictModel, Whole, refused
from apps.engine.language.operands import Operand

MOST_PICKED: Final = 50

RankOrder: TypeAlias = Literal["highest", "lowest"]
RankingRows: TypeAlias = Literal["candle", "week", "month"]
SymbolCount: TypeAlias = Annotated[int, Field(ge=1, le=MOST_PICKED), Whole]


class Rank(StrictModel):
    """A ranking of all symbols with a candle and a known value; only the best are entered."""

    by: Operand = Field(
        description="The value by which the symbols are ranked. A symbol without one is never"
        " picked.",
        examples=[{"type": "ROC", "period": 126}],
    )
    order: Maybe[RankOrder] = Field(
        None,
        description=(
            "Whether the `highest` or the `lowest` value comes first; of equal values the symbol"
            " that is listed first. Absent: `highest`."
        ),
        examples=["highest"],
    )
    top: SymbolCount = Field(
        description=(
            "The number of symbols to pick: an entry signal counts only at a place up to it, and"
            " the entries of one candle are tried by their places. 1 to 50."
        ),
        examples=[5],
    )
    keep: Maybe[SymbolCount] = Field(
        None,
        description=(
            "The last place at which a position stays open where `exitConditions.onRank` is"
            " `leave`: `top` to 50. Absent: `top`."
        ),
        examples=[8],
    )
    every: RankingRows = Field(
        description=(
            "When symbols are ranked, and entries signalled: at each `candle`, or at the last"
            " session of each `week` or `month` by the first symbol's calendar. `week` and `month`"
            " need the timeframe 1d."
        ),
        examples=["month"],
    )

    @model_validator(mode="after")
    def _keeps_what_it_picks(self) -> Rank:
        if self.keep is not None and self.keep < self.top:
            raise refused("must not be less than top", "keep")
        return self
