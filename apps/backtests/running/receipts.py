"""The receipt of a result, as it is stored and on the wire."""

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from apps.engine.evidence import LookAheadCertificate
from apps.engine.results import Digest, SimulationReceipt
from apps.market.candles import CoverageRow


class CoveredReceipt(SimulationReceipt):
    """The receipt of a simulation over stored candles."""

    coverage: NotRequired[
        Annotated[
            list[CoverageRow],
            Field(
                description="The coverage of the range by symbol; absent from results of engine"
                " version 9 and before."
            ),
        ]
    ]


class ResultHashes(TypedDict):
    """The hashes that identify equal results."""

    result: Annotated[
        Digest, Field(description="The hash of the result; equal results have equal hashes.")
    ]
    study: Annotated[
        Digest | None,
        Field(description="Of the configuration of a study; null of a plain backtest."),
    ]


class FirstReceipt(CoveredReceipt, ResultHashes):
    """The receipt of a result that has no evidence yet."""

    synthetic: Annotated[
        list[str],
        Field(
            description="Symbols with generated candles; the first of the notes says so, and"
            " `coverage` until when."
        ),
    ]


class Receipt(FirstReceipt):
    """The inputs behind a result, as hashes, and notes on its limits."""

    lookAhead: NotRequired[
        Annotated[
            LookAheadCertificate,
            Field(description="The certificate of the evidence; absent until that is ready."),
        ]
    ]
