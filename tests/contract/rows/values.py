"""Values of a wrong type, size or set, each in an otherwise good algorithm."""

from typing import Any, Final

from tests.contract.rows.row import INVALID, TOO_LARGE, Row, rows_of, with_at, wrong

PERIOD: Final = "entryConditions.conditions[0].indicator1.period"
LOSS: Final = "riskParameters.maxDailyLoss"
STOP: Final = "exitConditions.stopLoss.percentage"
SYMBOLS: Final = "basicInfo.symbols"
RUNS: Final = "monteCarloConfig.runs"


def _text(name: str, path: str, text: str) -> Row:
    """A literal that Python's JSON writer would not produce."""
    whole = Row(name, INVALID, body=with_at(path, "@@")).raw
    return Row(name, INVALID, body=whole.replace(b'"@@"', text.encode()), details={"field": path})


def _period(name: str, value: Any) -> Row:
    return wrong(f"{name} as a period", PERIOD, value)


def _name(name: str, value: Any) -> Row:
    return wrong(f"{name} as a name", "name", value)


def _step(name: str, value: Any) -> Row:
    return wrong(f"{name} as a step", "basicInfo", value)


NUMBERS: Final = [
    _text("B01 NaN as a loss", LOSS, "NaN"),
    _text("B02 Infinity as a loss", LOSS, "Infinity"),
    _text("B03 -Infinity as a loss", LOSS, "-Infinity"),
    _text("B04 1e400 as a loss", LOSS, "1e400"),
    _text("B05 1e400 in an object of any keys", RUNS, "1e400"),
    wrong("B06 'inf' as a loss", LOSS, "inf"),
    wrong("B07 'nan' as a loss", LOSS, "nan"),
    _text("B08 5,000 digits as a loss", LOSS, "9" * 5_000),
    _text("B09 4,000 digits in an object of any keys", RUNS, "9" * 4_000),
    *rows_of("B", 10, _period, 2147483648, 9223372036854775808, -1, 0, 1.5, True, "14"),
    _text("B30 a stop of 1e-320 %", STOP, "1e-320"),
]
TYPES: Final = [
    *rows_of("B", 17, _name, 1, True, None, [], {}),
    *rows_of("B", 22, _step, [], "x", None),
    wrong("B25 symbols as one string", SYMBOLS, "NSE:TCS"),
    wrong("B26 a number among symbols", SYMBOLS + "[0]", 1),
    wrong("B26 null among symbols", SYMBOLS + "[0]", None),
    wrong("B26 an object among symbols", SYMBOLS + "[0]", {}),
    wrong("B27 10,001 symbols", SYMBOLS, [f"NSE:A{n}" for n in range(10_001)]),
    Row(
        "B28 10,000 keys in a step",
        INVALID,
        body=with_at("exitConditions", {f"key{n}": n for n in range(10_000)}),
        details={"field": "exitConditions.key0"},
    ),
    wrong("B29 100 KiB in an object of any keys", "walkForwardConfig", {"x": "y" * 102_400}),
]
TEXTS: Final = [
    wrong("C01 NUL in a name", "name", "a\0b"),
    wrong("C02 NUL as a value in a step", "executionSettings.broker", "\0"),
    Row(
        "C03 NUL as a key in a step",
        INVALID,
        body=with_at("executionSettings.\0", 1),
        details={"field": "executionSettings"},
    ),
    wrong("C04 half a surrogate pair in a name", "name", "\ud83d"),
    wrong("C05 half a surrogate pair in a step", "executionSettings.broker", "\ud83d"),
    Row("C06 half a surrogate pair as an unknown key", INVALID, body=with_at("\ud83d", 1)),
    *rows_of("C", 7, _name, "", "   ", "x" * 101),
    wrong("C10 a description of 2,001 characters", "description", "x" * 2001),
    wrong("C11 a line break in a name", "name", "a\r\nSet-Cookie: x=1"),
    wrong("C12 a name that is written backwards", "name", "\u202eevil"),
    Row("C18 1 MiB in a description", TOO_LARGE, body=with_at("description", "x" * 2**20)),
]
CHOICES: Final = [
    wrong("J06 no open positions", "riskParameters.maxOpenPositions", 0),
    wrong("J06 a negative size", "riskParameters.maxPositionSize", -1),
    wrong("J06 a ratio of 0", "riskParameters.riskRewardRatio", 0),
    wrong("J19 strategyType hodl", "basicInfo.strategyType", "hodl", value="hodl"),
    wrong("J20 timeframe 2h", "basicInfo.timeframe", "2h", value="2h"),
    wrong("J21 timeframe 1D", "basicInfo.timeframe", "1D", value="1D"),
    wrong("J22 positionType sideways", "entryConditions.positionType", "sideways"),
    wrong("J23 mode yolo", "executionSettings.mode", "yolo", value="yolo"),
    wrong("J25 an unknown operator", "entryConditions.conditions[0].operator", "crosses"),
    wrong("J27 a period of 100,000", PERIOD, 100_000),
    wrong("J28 a stop of 0 %", STOP, 0),
    wrong("J28 a stop of -5 %", STOP, -5),
    wrong("J28 a stop of 101 %", STOP, 101),
]
CLOSED: Final = ("J19", "J20", "J21", "J22", "J23", "J25")
"""Of a closed set the refusal also names the whole set."""

ALL: Final = [*NUMBERS, *TYPES, *TEXTS, *CHOICES]
