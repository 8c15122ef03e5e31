"""The last execution of an algorithm, as it is stored and on the wire."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict


class LastFill(TypedDict):
    """A fill of a run."""

    symbol: str
    side: Literal["buy", "sell"]
    quantity: int
    price: Annotated[float, Field(description="Rupees.")]
    reason: Annotated[str, Field(description="Entry, add, or why it left.")]


class LastExecution(TypedDict):
    """The last fill, or the limit that stopped an entry."""

    timestamp: Annotated[str, Field(json_schema_extra={"format": "date-time"})]
    status: Literal["success", "error"]
    result: NotRequired[Annotated[LastFill, Field(description="The fill; only of a success.")]]
    error: NotRequired[Annotated[str, Field(description="The limit; only of an error.")]]
