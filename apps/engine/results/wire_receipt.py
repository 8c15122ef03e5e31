"""The receipt of a simulation, as it is stored and on the wire."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict

Digest: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class ReceiptNote(TypedDict):
    """A limit on the trust in a result, with its cause as a code."""

    code: str
    message: str


class SimulationReceipt(TypedDict):
    """The inputs of a simulation, as hashes (rule 14), and notes on its limits."""

    engineVersion: Annotated[int, Field(description="Of the rules of the simulation.")]
    configuration: Annotated[Digest, Field(description="Of the steps.")]
    candles: Annotated[Digest, Field(description="The hash of the bars that were read.")]
    rulebook: Annotated[
        Digest, Field(description="The hash of the charges, hours and contracts that applied.")
    ]
    alerts: NotRequired[
        Annotated[
            Digest | None,
            Field(
                description="The hash of the alerts that were read; null if no condition reads any."
                " Absent from results of engine version 12 and before."
            ),
        ]
    ]
    start: Annotated[int, Field(description="First second of the range, since 1970 in UTC.")]
    end: Annotated[int, Field(description="First second after the range, since 1970 in UTC.")]
    capital: Annotated[float, Field(description="Rupees at the start.")]
    seed: Annotated[int, Field(description="Of random draws.")]
    notes: list[ReceiptNote]
