"""The known formats, in the order in which they are matched with a header."""

from collections.abc import Sequence
from typing import Final

from apps.market.importers.file_format import FileFormat
from apps.market.importers.formats import (
    bse_cash,
    gdfl,
    lean,
    mcx,
    nse_cash,
    nse_derivatives,
    plain,
    portal,
    udiff,
    yfinance,
)

_FORMATS: Final = (
    udiff.FORMAT,
    nse_cash.OLD,
    nse_cash.FULL,
    nse_derivatives.FORMAT,
    bse_cash.FORMAT,
    mcx.BHAVCOPY,
    mcx.CONTRACT_MINUTES,
    gdfl.FORMAT,
    yfinance.FORMAT,
    portal.SHORT,
    portal.LONG,
    lean.FORMAT,
    plain.FORMAT,
)


def format_of(header: Sequence[str]) -> FileFormat:
    """Return the first format that matches the header; the last of them matches any."""
    return next(file_format for file_format in _FORMATS if file_format.matches(header))
