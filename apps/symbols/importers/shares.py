"""Recognise shares, funds and units of trusts in an exchange's cash market.

Masters list debt, warrants, rights and closed plans among equities, often under the issuer's own
symbol. The eighth and ninth characters of an Indian ISIN give the kind; a series or group, if
present, gives it too.
"""

from typing import Final

from apps.symbols.importers.rows import RejectedRow, RejectReason

# NSE series in order of preference if one symbol has several: normal and trade-for-trade segments,
# SME, trusts. BL is the block window; its rows repeat the share's.
_NSE: Final = ("EQ", "BE", "BZ", "SM", "ST", "SZ", "IV", "RR", "IT")
_BLOCK: Final = "BL"
# Every other series that a name may end in after a hyphen: N0 to NZ, Y1, GS, SG, TB, W1, E1 and so.
_NSE_OTHER: Final = frozenset(("GS", "SG", "TB", "GB", "MF", "ME", "SF", "DR", "GC", "AF"))
_BSE: Final = frozenset(
    (
        "A",
        "B",
        "T",
        "X",
        "XT",
        "Z",
        "ZP",
        "M",
        "MT",
        "MS",
        "TS",
        "P",
        "E",
        "IF",
        "IP",
        "Y",
        "NS",
        "NT",
    )
)
# Positions 8 and 9 of INE... and IN9...: shares, units of infrastructure and real estate trusts.
_SHARES: Final = frozenset(("01", "23", "25"))
NO_ISIN: Final = ("", "-", "NA")  # the lists' ways to write a missing ISIN
_SERIES_LENGTH: Final = 2
_ISIN_LENGTH: Final = 12


def rank_of(exchange: str, *, series: str = "", isin: str = "") -> int:
    """Return the rank of a share among rows of one symbol, 0 for the best.

    Raises RejectedRow for other instruments.
    """
    if isin not in NO_ISIN and not _is_share(isin):
        raise RejectedRow(_reason_of(isin), isin)
    if not series:
        return 0
    if exchange == "NSE":
        return _rank_on_nse(series)
    if series not in _BSE:
        raise RejectedRow(RejectReason.NOT_A_SHARE, f"group {series}")
    return 0


def split_series(name: str) -> tuple[str, str]:
    """Split the NSE series after a hyphen from a name; "" without a series: BAJAJ-AUTO has none."""
    stem, hyphen, last = name.rpartition("-")
    known = last in _NSE or last == _BLOCK or last in _NSE_OTHER
    numbered = len(last) == _SERIES_LENGTH and last[:1] in "NYZPWEXDUV" and last.isalnum()
    return (stem, last) if hyphen and stem and (known or numbered) else (name, "")


def _rank_on_nse(series: str) -> int:
    if series == _BLOCK:
        raise RejectedRow(RejectReason.OTHER_SERIES, "the block window, BL")
    if series not in _NSE:
        raise RejectedRow(RejectReason.NOT_A_SHARE, f"series {series}")
    return _NSE.index(series)


def _is_share(isin: str) -> bool:
    if len(isin) != _ISIN_LENGTH:
        return False
    if isin.startswith("INF"):
        return True
    return isin.startswith(("INE", "IN9")) and isin[7:9] in _SHARES


def _reason_of(isin: str) -> RejectReason:
    return RejectReason.TEST if isin.startswith("DUM") else RejectReason.NOT_A_SHARE
