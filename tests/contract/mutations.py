"""Wrong requests, made from good ones.

The tree of a good body is changed in one to three places, and sometimes its bytes as well. A seed
and a number give the same mutant again, on any machine.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from random import Random
from typing import Any, Final, NamedTuple

Json = Any
"""Any: what a JSON document is."""


class Mutant(NamedTuple):
    """The body to send, and the changes to the good one."""

    raw: bytes
    changes: str


class _Node(NamedTuple):
    """The position of a value: an object or array, and the key or index in it."""

    within: Json
    key: Any
    path: str

    @property
    def value(self) -> Json:
        return self.within[self.key]


# fmt: off
NUMBERS: Final = (
    0, 1, 2, 3, 10, 11, 20, 21, 50, 51, 100, 101, 500, 501, 1000, 1001, -1, -0.0, 0.0, 1.0, 2.0,
    14.0, 0.1, 0.5, 1.5, 99.99999999999999, 100.0001, 0.0001, 0.00009, 0.01, 0.0099,
    0.30000000000000004,
    1e-9, 1e-10, 1e-320, 5e-324, -1e-300, 1e12, 10**12, 10**12 + 1, 1e12 + 1, -1e12, 1e13, -1e13,
    1e308, 2**31, 2**31 - 1, 2**63, -(2**63), 10**40, 10**41, 10**400, 1_000_000, 1_000_001,
    999_999_999_999.99, 123456789.123456789,
)
TEXTS: Final = (
    "", " ", "  x  ", "x", "x" * 50, "x" * 51, "x" * 100, "x" * 101, "x" * 2000, "x" * 2001,
    "x" * 50_000, "é" * 200, "\x00", "a\x00b", "\ud800", "x\udfff\ud800y", "\u202eevil", "\ufeffx",
    "e\u0301", "\u200d", "😀" * 60, "\U0010ffff", "\ufdd0", "\u2028", "a\nb", "a\r\nb", "\t",
    "\x07", "\x7f", "\x85", "NaN", "nan", "Infinity", "-inf", "null", "true", "false", "0", "1",
    "1.0", "1e5", "0x10", "१४", "{0}", "{value}", "{message}", "%s%n%d", "%(x)s", "$1", "\\", '"',
    "<script>alert(1)</script>", "'; DROP TABLE algorithms; --", "../../etc/passwd", "a.b", "[0]",
    "Algorithm #7", "Algorithm #999999999", "Algorithm #0", "__proto__",
)
SYMBOLS: Final = (
    "NSE:NIFTY", "NSE:TCS", "NSE:M", "BSE:SENSEX", "MCX:GOLDM24JANFUT", "NCDEX:JEERA24FEBFUT",
    "NSE:NIFTY24JANFUT", "NSE:NIFTY24JAN11FUT", "NSE:NIFTY24JAN21500CE", "NSE:NIFTY24JAN1118000CE",
    "NSE:NIFTY24JAN0421500PE", "NSE:NIFTY2024JANFUT", "NSE:NIFTY24JANUARYFUT",
    "NSE:NIFTY24FEB30FUT",
    "NSE:NIFTY24JAN", "NSE:NIFTY24JAN21500.5CE", "NSE:NIFTY24JAN21500CALL",
    "NSE:NIFTY24JAN021500CE",
    "nse:NIFTY", "NSE:Nifty", "NSE NIFTY", "NSE-NIFTY", "NSE::NIFTY", "NSE:NIFTY:X", ":NIFTY",
    "NSE:", "NIFTY", "NFO:NIFTY", "NSE:M&M", "NSE:BAJAJ-AUTO", "NSE:ＮＩＦＴＹ", "NSE:" + "A" * 46,
    "NSE:" + "A" * 47, "NSE:NIFTY ", " NSE:NIFTY", "NSE:NIFTY\n", "NSE:٣٤", "NSE:24JANFUT",
    "NSE:A" + "9" * 40 + "CE",
)
MOMENTS: Final = (
    "2024-02-01", "2024-02-29", "2024-02-15", "2023-02-29", "2024-02-30", "2024-13-01",
    "2024-00-10",
    "2024-2-1", "20240201", "2024-W05-4", "2024-032", "01-02-2024", "0000-01-01", "0001-01-01",
    "1899-12-31", "1969-12-31", "1989-12-31", "1990-01-01", "2026-11-21", "2038-01-20",
    "2999-01-01",
    "9999-12-31", "10000-01-01", "-2024-02-01", "+2024-02-01", "2024-02-01T00:00:00Z",
    "2024-02-29T23:59:59Z", "2024-02-01T00:00:00", "2024-02-01T00:00:00+05:30",
    "2024-02-01t00:00:00z", "2024-02-01 00:00:00+00:00", "2024-02-01T00:00Z", "2024-02-01T00Z",
    "2024-02-01T00:00:00.123456789Z", "2024-02-01T00:00:00,5Z", "2024-02-01T24:00:00Z",
    "2024-02-01T23:59:60Z", "2024-02-01T00:00:00+24:00", "2024-02-01T00:00:00+23:59",
    "2024-02-01T00:00:00-00:00", "2024-02-01T00:00:00+05:30:15", "2024-02-01T00:00:00+0530",
    "2024-02-01T00:00:00+99:99", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00",
    "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999999Z",
    "2024-02-01T00:00:00Z[Asia/Kolkata]",
    "２０２４-02-01", "2024‐02‐01", "2024-02-01\n", " 2024-02-01", "now", "today", "1706745600",
    "2024-02-01T", "T00:00:00Z",
)
TIMES: Final = (
    "09:15", "15:30", "00:00", "23:59", "24:00", "9:15", "09:60", "0915", "09:15:00", "09:15Z",
    "09:15\n", "०९:१५", "-1:00",
)
ADDRESSES: Final = (
    "bob@example.com", "ALICE@example.com", "new@example.com", "new@example.com ", "new@example",
    "new@example.c", "new@@example.com", "@example.com", "new@", "new@example.com\n",
    "new@exa_mple.com", "new@-example.com", "new@[127.0.0.1]", '"a b"@example.com',
    "n\u0131w@x.com", "new@ex\u0430mple.com", "a" * 64 + "@example.com", "a" * 65 + "@example.com",
    "new@" + "a." * 120 + "com", "new@" + "a." * 130 + "com", ".new@example.com",
    "n..w@example.com",
    "new@example.com, bob@example.com", "new@example.com\r\nBcc: bob@example.com", "<new@x.com>",
)
NETWORKS: Final = (
    "127.0.0.0/8", "127.0.0.1", "0.0.0.0/0", "::/0", "::1", "::1/128", "2001:db8::/32",
    "203.0.113.5/24", "203.0.113.0/33", "203.0.113.0/-1", "203.0.113.0/255.255.255.0",
    "203.0.113.0/0.0.0.255", "203.0.113", "203.0.113.00/24", "::ffff:203.0.113.5", "fe80::1%eth0",
    "fe80::1%" + "x" * 9_000, "1.2.3.4:80", "[::1]", "localhost", " 127.0.0.1", "\u0661.2.3.4",
    "127.0.0.1/\u0668", "2130706433", "0x7f000001",
)
CODES: Final = (
    "000000", "123456", "12345", "1234567", "123 456", " 123456",
    "\u0967\u0968\u0969\u096a\u096b\u096c",
    "3f9a1-c07be", "3F9A1C07BE", "3f9a1c07be" * 4, "-" * 40, "-" * 41, "%s", "e\u0301", "\u2028",
)
KINDS: Final = (
    "scalping swing position arbitrage market_making momentum mean_reversion hodl",
    "1m 5m 15m 30m 1h 4h 1d 1w 2h 1M 1D",
    "risk_based fixed_quantity fixed_amount percentage_of_equity volatility_based martingale",
    "long short both Long",
    "AND OR and XOR",
    "indicator_indicator indicator_value time_window candle_pattern signal group",
    "crosses_above crosses_below above below at_or_above at_or_below rising falling Above",
    "percentage points atr risk_reward percent",
    "paper live yolo",
    "NSE BSE MCX NCDEX nse NFO",
    "market limit stop MARKET",
    "intraday delivery carryforward margin",
    "none standard full",
    "backtest walk_forward monte_carlo optimization Backtest",
    "value macd signal histogram upper lower middle k d aroonUp plusDI trend",
    "close open high low volume hl2 hlc3 ohlc4 typical",
    "PRICE VOLUME SMA EMA WMA HMA KAMA TEMA VWAP VWMA SAR SUPERTREND HA BBANDS KC DONCHIAN RSI "
    "MACD STOCH STOCHRSI ADX AROON ATR OBV AD MFI CMF WILLR MAX MIN TRIX CCI STDDEV ema CDLDOJI",
)
"""The closed sets of the interface, each with a word or two that only look like one of it."""
WORDS: Final = tuple(word for kind in KINDS for word in kind.split())
KEYS: Final = (
    "id", "userId", "status", "version", "performance", "name", "description", "isTemplate",
    "isPublic", "walkForwardConfig", "monteCarloConfig", "type", "method", "period", "offset",
    "output",
    "source", "timeframe", "side", "candles", "value", "operator", "indicator", "indicator1",
    "conditions", "logicalOperator", "from", "to", "percentage", "points", "ratio", "atrPeriod",
    "atrMultiplier", "quantity", "amount", "riskPercentage", "pyramiding", "enabled", "maxEntries",
    "multiplier", "fastPeriod", "slowPeriod", "stopLoss", "takeProfit", "trailingStop",
    "squareOffTime", "maxHoldingCandles", "exitOnOppositeSignal", "limitOffset", "broker",
    "slippage",
    "productType", "initialCapital", "charges", "kind", "symbols", "startDate", "algorithmId",
    "from_", "source_", "model_config", "model_fields", "__class__", "__proto__", "constructor",
    "$where", "", " ", ".", "a.b", "[0]", "0", "self", "cls", "\x00", "k\x00", "\ud800",
    "\u202e", "😀",
    "{0}", "{field}", "%s", "x" * 200, "x" * 50_000,
)
# fmt: on


def mutants(good: Sequence[Json], *, seed: int, first: int, count: int) -> Iterator[Mutant]:
    """Yield `count` mutants of the endless sequence for the seed, from number `first` on."""
    for number in range(first, first + count):
        yield _mutant(deepcopy(good), Random(f"{seed}/{number}"))


def _mutant(good: Sequence[Json], random: Random) -> Mutant:
    body, changes = random.choice(good), []
    for _ in range(random.choice((1, 1, 1, 2, 2, 3))):
        places = list(_places(body))
        if not places:
            break
        node = random.choice(places)
        change = random.choice(_CHANGES)
        said = change(node, places, random)
        changes.append(f"{change.__name__.strip('_')} {node.path[-80:]} {said}")
    raw = json.dumps(body, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    if random.random() < 0.1:
        breakage = random.choice(_BREAKAGES)
        raw = breakage(raw, random)
        changes.append(breakage.__name__.strip("_"))
    return Mutant(raw, "; ".join(changes))


def _places(value: Json, path: str = "") -> Iterator[_Node]:
    """Return every place of a tree, but few places of a list that a mutation made huge."""
    keys = list(value)[:60] if isinstance(value, dict) else range(min(len(value), 60))
    for key in keys:
        path_of_child = f"{path}.{key}" if isinstance(value, dict) else f"{path}[{key}]"
        yield _Node(value, key, path_of_child.lstrip("."))
        if isinstance(value[key], dict | list):
            yield from _places(value[key], path_of_child)


# Changes of the tree; each returns a short description.


def _drop(node: _Node, places: Sequence[_Node], random: Random) -> str:
    del node.within[node.key]
    return ""


def _repeat(node: _Node, places: Sequence[_Node], random: Random) -> str:
    """Repeat it in its list, or under another name."""
    value, times = deepcopy(node.value), random.choice((1, 1, 1, 19, 60))
    if isinstance(node.within, list):
        node.within.extend([value] * times)
        return f"{times} times"
    other = random.choice(KEYS)
    node.within[other] = value
    return f"as {other[:20]!r}"


def _rename(node: _Node, places: Sequence[_Node], random: Random) -> str:
    """Make a typo: a letter dropped, doubled, swapped, changed, or in the other case."""
    if not isinstance(node.key, str) or not node.key:
        return _swap_type(node, places, random)
    name = _typo(node.key, random)
    node.within[name] = node.within.pop(node.key)
    return f"to {name[:30]!r}"


def _typo(text: str, random: Random) -> str:
    at = random.randrange(len(text))
    before, letter, after = text[:at], text[at], text[at + 1 :]
    return random.choice(
        (
            before + after,
            before + letter * 2 + after,
            before + after[:1] + letter + after[1:],
            before + random.choice("abcxyzABC_ 01é") + after,
            before + letter.swapcase() + after,
            f" {text}",
            text.upper(),
            text.lower(),
        )
    )


def _swap_type(node: _Node, places: Sequence[_Node], random: Random) -> str:
    value = node.value
    swapped: Any = (
        None,
        True,
        False,
        str(value)[:200],
        [value],
        {"value": value},
        [],
        {},
        "1",
        1,
        1.0,
        [None],
    )
    return _put(node, random.choice(swapped))


def _number(node: _Node, places: Sequence[_Node], random: Random) -> str:
    value = node.value
    if _is_float(value) and random.random() < 0.3:
        return _put(node, random.choice((-value, value * 10, value / 10, value + 0.5, value * 1.0)))
    return _put(node, random.choice(NUMBERS))


def _is_float(value: Json) -> bool:
    """Return whether the value is a number that fits a float."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) < 10**300


def _text(node: _Node, places: Sequence[_Node], random: Random) -> str:
    if isinstance(node.value, str) and node.value and random.random() < 0.3:
        return _put(node, _typo(node.value, random))
    return _put(node, random.choice(TEXTS))


def _word(node: _Node, places: Sequence[_Node], random: Random) -> str:
    return _put(node, random.choice(random.choice((WORDS, WORDS, SYMBOLS, MOMENTS, TIMES))))


def _fitting(node: _Node, places: Sequence[_Node], random: Random) -> str:
    """Put a value of the same kind, with a less obvious fault."""
    name = str(node.key)
    if name.endswith("Date") or name == "expiresAt":
        return _put(node, random.choice(MOMENTS))
    if name in _FITTING:
        return _put(node, random.choice(_FITTING[name]))
    if node.path.startswith("networks"):
        networks = [random.choice(NETWORKS) for _ in range(random.choice((1, 2, 20, 21)))]
        return _put(node, networks if name == "networks" else networks[0])
    if "symbols" in node.path:
        listed = [random.choice(SYMBOLS) for _ in range(random.choice((1, 2, 3, 50, 51)))]
        return _put(node, listed if name == "symbols" else listed[0])
    if name in ("from", "to", "squareOffTime"):
        return _put(node, random.choice(TIMES))
    if name == "algorithmId":
        return _put(node, random.choice(("0" * 24, "f" * 24, "F" * 24, "0" * 23, "g" * 24, "id")))
    if isinstance(node.value, bool):
        return _put(node, not node.value)
    return _put(node, random.choice(_kin(node.value) if isinstance(node.value, str) else NUMBERS))


_FITTING: Final = {"email": ADDRESSES, "username": ADDRESSES, "code": CODES}


def _kin(word: str) -> Sequence[str]:
    """Put another word of its set."""
    return next((kind.split() for kind in KINDS if word in kind.split()), WORDS)


def _nudge(node: _Node, places: Sequence[_Node], random: Random) -> str:
    """Change a number slightly: it is often still valid."""
    value = node.value
    if not _is_float(value):
        return _fitting(node, places, random)
    by = random.choice((0.1, 0.5, 0.9, 1.1, 2, 3, 10))
    return _put(node, int(value * by) if isinstance(value, int) else value * by)


def _sibling(node: _Node, places: Sequence[_Node], random: Random) -> str:
    """Put the value of another place."""
    return _put(node, deepcopy(random.choice(places).value))


def _foreign_key(node: _Node, places: Sequence[_Node], random: Random) -> str:
    """Add a key: one of another object, or an unknown one."""
    target = node.value if isinstance(node.value, dict) else node.within
    if not isinstance(target, dict):
        return _swap_type(node, places, random)
    named = [other for other in places if isinstance(other.key, str)]
    known = random.choice(named) if named else node
    name = str(random.choice((known.key, random.choice(KEYS))))
    target[name] = deepcopy(random.choice((known.value, 1, None, "x", {})))
    return f"{name[:30]!r}"


def _nest(node: _Node, places: Sequence[_Node], random: Random) -> str:
    value, deep = node.value, random.choice((1, 2, 3, 12, 19, 25, 200))
    name = random.choice(("value", "conditions", "indicator", "group", "x"))
    for _ in range(deep):
        value = [value] if name == "x" else {name: value}
    node.within[node.key] = value
    return f"{deep} deep"


def _grow(node: _Node, places: Sequence[_Node], random: Random) -> str:
    """Put a very long list, or a very large object."""
    many = random.choice((21, 51, 51, 1_000, 1_000, 20_000))
    filled: tuple[Callable[[], Json], ...] = (
        lambda: [0] * many,
        lambda: [None] * many,
        lambda: [{}] * many,
        lambda: [[]] * many,
        lambda: [f"NSE:A{n}" for n in range(many)],
        lambda: {f"key{n}": n for n in range(many)},
        lambda: {f"stopLos{n}": {"type": "percentage"} for n in range(many)},
        lambda: [{"type": "indicator_value", "indicator": {"typ": "RSI"}} for _ in range(many)],
        lambda: [deepcopy(node.value)] * (21 if isinstance(node.value, dict | list) else many),
    )
    return _put(node, random.choice(filled)())


def _put(node: _Node, value: Json) -> str:
    node.within[node.key] = value
    return repr(value)[:60]


_CHANGES: Final = (
    _drop,
    _drop,
    _repeat,
    _rename,
    _rename,
    _swap_type,
    _swap_type,
    _number,
    _number,
    _number,
    _text,
    _text,
    _word,
    _fitting,
    _fitting,
    _fitting,
    _fitting,
    _nudge,
    _nudge,
    _nudge,
    _nudge,
    _nudge,
    _nudge,
    _sibling,
    _foreign_key,
    _nest,
    _grow,
)


# Breakages of the bytes.


def _truncate(raw: bytes, random: Random) -> bytes:
    return raw[: random.randrange(len(raw))]


def _twice(raw: bytes, random: Random) -> bytes:
    """Repeat a key in its object."""
    at = _after(raw, b"{", random)
    end = raw.find(b":", at)
    return raw[:at] + raw[at:end] + b": 1, " + raw[at:] if raw[at : at + 1] == b'"' else b"{}{}"


def _comma(raw: bytes, random: Random) -> bytes:
    at = _after(raw, random.choice((b"}", b"]", b'"')), random) - 1
    return raw[:at] + b"," + raw[at:]


def _literal(raw: bytes, random: Random) -> bytes:
    """Put text in place of a value that is not JSON, or is JSON that must be refused."""
    at = _after(raw, b": ", random)
    ends = [end for mark in b",}" if (end := raw.find(mark, at)) > 0]
    literal = random.choice(
        (
            b"NaN",
            b"Infinity",
            b"-Infinity",
            b"1e400",
            b"-1e400",
            b"1e309",
            b"1E+999999999",
            b"01",
            b"+1",
            b"1.",
            b".5",
            b"0x1",
            b"1_000",
            b"undefined",
            b"None",
            b"True",
            b"'x'",
            b'"\\x41"',
            b'"\\u00"',
            b'"\\ud800"',
            b'"\\u0000"',
            b'"\x00"',
            b'"\n"',
            b"9" * 5_000,
            b"0." + b"0" * 5_000 + b"1",
            b"1e-400",
            b"-",
            b"",
            b"/**/1",
            b'"\xff"',
            b'"\xc0\xaf"',
            b'"\xed\xa0\x80"',
            b"[" * 3_000,
            b"[" * 18 + b"]" * 18,
            b"\xef\xbb\xbf1",
        )
    )
    return raw[:at] + literal + raw[min(ends, default=len(raw)) :]


def _frame(raw: bytes, random: Random) -> bytes:
    """Break the document as a whole."""
    return random.choice(
        (
            b"\xef\xbb\xbf" + raw,
            raw + b"{}",
            raw + b"\x00",
            raw + b" \n\t",
            b"[" + raw + b"]",
            raw.decode("utf-8", "replace").encode("utf-16"),
            b"",
            b" ",
            b"null",
            b"true",
            b"1",
            b'""',
            b"[]",
            b"//x\n" + raw,
            b")]}'," + raw,
            b"name=x&y=1",
            raw.replace(b'"', b"'"),
            b"\xff" + raw,
            b"{" * 100_000,
            b"[" * 100_000 + b"]" * 100_000,
            b'"' + b"\\" * 99_999,
            b'{"a":' * 15 + b"1",
        )
    )


def _flip(raw: bytes, random: Random) -> bytes:
    """Change one byte."""
    at = random.randrange(len(raw))
    return raw[:at] + bytes([random.randrange(256)]) + raw[at + 1 :]


def _after(raw: bytes, mark: bytes, random: Random) -> int:
    """Return the position right after one of the marks; the end without a mark."""
    ends = [end + len(mark) for end in _positions_of(raw, mark)]
    return random.choice(ends) if ends else len(raw)


def _positions_of(raw: bytes, mark: bytes) -> Iterator[int]:
    at = raw.find(mark)
    while at >= 0:
        yield at
        at = raw.find(mark, at + 1)


_BREAKAGES: Final = (_truncate, _twice, _twice, _comma, _literal, _literal, _literal, _frame, _flip)
