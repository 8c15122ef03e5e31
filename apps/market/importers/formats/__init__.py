"""The formats that are known, in the order in which a header is tried."""

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

FORMATS: Final = (
    udiff.PROFILE,
    nse_cash.OLD,
    nse_cash.FULL,
    nse_derivatives.PROFILE,
    bse_cash.PROFILE,
    mcx.BHAVCOPY,
    mcx.CONTRACT_MINUTES,
    gdfl.PROFILE,
    yfinance.PROFILE,
    portal.SHORT,
    portal.LONG,
    lean.PROFILE,
    plain.PROFILE,
)


def format_of(header: Sequence[str]) -> FileFormat:
    """The first format that knows the header; the last of them knows any."""
    return next(profile for profile in FORMATS if profile.knows(header))
