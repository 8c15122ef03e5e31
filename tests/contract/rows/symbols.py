"""Invalid symbols."""

from typing import Final

from tests.contract.rows.row import INVALID, VALIDATE, Row, shown, wrong

MALFORMED: Final = (
    "nse:TCS", "Nse:TCS", "NSE:tcs", "NSE:Tcs",
    "TCS", ":TCS", "NSE:", "NSE", ":", "",
    "NSE::TCS", "NSE:TCS:EQ", "NSE-TCS", "NSE/TCS", "NSE.TCS",
    "NYSE:TCS", "NFO:NIFTY24JANFUT",
    " NSE:TCS", "NSE:TCS ", "NSE: TCS", "NSE:TCS\n",
    "NSE:\u0422CS", "NSE\uff1aTCS", "NSE:TCS\u0661",
    "NSE:M&M", "NSE:BAJAJ-AUTO",
    "NSE:NIFTY2024JANFUT", "NSE:NIFTY24JANUARYFUT", "NSE:NIFTY24JanFUT", "MCX:GOLD24XXXFUT",
    "NSE:NIFTY24JAN21500.5CE", "NSE:NIFTY24JAN21500C", "NSE:NIFTY24JAN21500CALL",
    "NSE:NIFTY24JAN21500ce",
    "NSE:" + "A" * 1000,
    "NSE:NIFTY24FEB30FUT",
)  # fmt: skip
"""By their form alone. Letters of other alphabets are among them, and a month that is none."""

IN_ALGORITHMS: Final = [
    *[
        wrong(f"D01 {shown(symbol)} in an algorithm", "basicInfo.symbols[0]", symbol)
        for symbol in (*MALFORMED, "NSE:TCS\0")
    ],
    wrong("D39 one twice", "basicInfo.symbols", ["NSE:TCS", "NSE:TCS"]),
]
NOT_A_SYMBOL: Final[tuple[object, ...]] = (None, 1, True, [], {}, ["NSE:TCS"])
NOT_TEXT: Final = [
    Row(name, INVALID, path=VALIDATE, body=body, details={"field": "symbol"})
    for name, body in [
        ("D22 NUL in a symbol to be checked", {"symbol": "NSE:TCS\0"}),
        ("D01 no symbol to be checked", {}),
        *[
            (f"D01 {shown(value)} as a symbol to be checked", {"symbol": value})
            for value in NOT_A_SYMBOL
        ],
    ]
]
