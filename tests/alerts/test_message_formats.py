"""Messages as TradingView, ChartInk and programs of users send them."""

import json

import pytest

from apps.alerts.message_formats import MAX_STOCKS, IncomingAlert, IncomingMessage, read_message
from apps.alerts.models import MAX_ALERT_NAME, MAX_SENT_AT
from apps.core.errors import InvalidInput

# As ChartInk sends it.
SCAN = {
    "stocks": "SEPOWER,ASTEC,EDUCOMP",
    "trigger_prices": "3.75,541.8,2.1",
    "triggered_at": "2:34 pm",
    "scan_name": "Short term breakouts",
    "scan_url": "short-term-breakouts",
    "alert_name": "Alert for Short term breakouts",
    "webhook_url": "http://your-web-hook-url.com",
}


def read(format: str, body: object) -> IncomingMessage:
    raw = body if isinstance(body, str) else json.dumps(body)
    return read_message(format, raw.encode())


def read_one(format: str, body: object) -> IncomingAlert:
    (alert,) = read(format, body).alerts
    return alert


def refusal(format: str, body: object) -> tuple[str, str]:
    """Return the field and the message of the refusal of a body."""
    with pytest.raises(InvalidInput) as refused:
        read(format, body)
    [fault] = refused.value.faults
    return fault.field, fault.message


# Plain JSON.


def test_plain_json_has_a_name_and_optional_fields() -> None:
    assert read("json", {"name": "buy"}) == IncomingMessage((IncomingAlert("buy"),))
    body = {
        "name": " buy ",
        "symbol": "NSE:INFY",
        "id": "a-1",
        "price": 1500.05,
        "time": "2026-11-27T10:00:00+05:30",
        "comment": {"of": "mine"},
    }
    alert = IncomingAlert("buy", "NSE:INFY", 1500.05, "2026-11-27T10:00:00+05:30")
    assert read("json", body) == IncomingMessage((alert,), "a-1")


def test_empty_and_null_fields_count_as_missing() -> None:
    body = {"name": "buy", "symbol": None, "id": "", "price": "", "time": None}
    assert read("json", body) == IncomingMessage((IncomingAlert("buy"),))


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({}, "name", "missing"),
        ({"name": " "}, "name", "missing"),
        ({"name": 5}, "name", "must be a string"),
        ({"name": "x" * (MAX_ALERT_NAME + 1)}, "name", "at most"),
        ({"name": "two\nlines"}, "name", "one line"),
        ({"name": "break\u200bout"}, "name", "invisible characters"),
        ({"name": "buy", "symbol": "INFY"}, "symbol", "the colon is missing"),
        ({"name": "buy", "symbol": "nse:INFY"}, "symbol", "in capitals"),
        ({"name": "buy", "symbol": "NSE:M&M"}, "symbol", "only the capitals"),
        ({"name": "buy", "symbol": ["NSE:INFY"]}, "symbol", "must be a string"),
        ({"name": "buy", "symbol": ""}, "symbol", "is empty"),
        ({"name": "buy", "Symbol": "NSE:INFY"}, "Symbol", "write symbol"),
        ({"name": "buy", "symbl": "NSE:INFY"}, "symbl", "write symbol"),
        ({"name": "buy", "ticker": "INFY", "exchange": "NSE"}, "ticker", "write symbol"),
        ({"name": "buy", "id": True}, "id", "must be a string or a number"),
        ({"name": "buy", "id": {}}, "id", "must be a string or a number"),
        ({"name": "buy", "price": "high"}, "price", "must be a price"),
        ({"name": "buy", "price": "1_000"}, "price", "must be a price"),
        ({"name": "buy", "price": True}, "price", "must be a price"),
        ({"name": "buy", "price": 1e13}, "price", "must be a price"),
        ({"name": "buy", "price": [1]}, "price", "must be a price"),
        ([{"name": "buy"}], "", "must be a JSON object"),
        ("buy", "", "not valid JSON"),
        ("", "", "not valid JSON"),
        ('{"name": "buy", "name": "sell"}', "name", "occurs twice"),
        ('{"name": "buy", "price": NaN}', "price", "not a JSON number"),
        ('{"name": "buy", "price": 1e400}', "price", "lies outside"),
    ],
)
def test_what_is_wrong_in_json_is_said(body: object, field: str, message: str) -> None:
    path, said = refusal("json", body)
    assert path == field
    assert message in said


def test_a_body_that_is_not_utf_8_is_refused() -> None:
    for format in ("json", "tradingview", "chartink"):
        with pytest.raises(InvalidInput, match="not UTF-8"):
            read_message(format, b"\xff\xfe")


def test_a_byte_order_mark_is_no_part_of_a_message() -> None:
    for format, body in (("json", '{"name": "buy"}'), ("tradingview", "buy")):
        assert read_one(format, f"\ufeff{body}").name == "buy"


@pytest.mark.parametrize("number", [7, 7.5, "7", 1234567890123456789])
def test_an_id_may_be_a_number(number: object) -> None:
    assert read("json", {"name": "buy", "id": number}).id == str(number)


@pytest.mark.parametrize(
    ("time", "kept"),
    [
        ("1970-01-01", "1970-01-01"),
        ("yesterday, if you like", "yesterday, if you like"),
        (1764216000000, "1764216000000"),
        (int("9" * 30), "9" * 30),
        (-1.5, "-1.5"),
        ({"day": 1}, '{"day":1}'),
        ("9" * 500, "9" * MAX_SENT_AT),
    ],
)
def test_the_time_of_the_sender_is_kept_whatever_it_is(time: object, kept: str) -> None:
    assert read_one("json", {"name": "buy", "time": time}).sent_at == kept
    assert (
        read_one(
            "chartink", {**SCAN, "stocks": "INFY", "trigger_prices": "", "triggered_at": time}
        ).sent_at
        == kept
    )


# TradingView.


@pytest.mark.parametrize(
    ("text", "alert"),
    [
        ("breakout", IncomingAlert("breakout")),
        ("SBIN Crossing 820.00\n", IncomingAlert("SBIN Crossing 820.00")),
        ("breakout NSE:SBIN", IncomingAlert("breakout", "NSE:SBIN")),
        ("RSI is low  NSE:M_M", IncomingAlert("RSI is low", "NSE:MM")),
        ("RSI is low\nBSE_DLY:BAJAJ_AUTO", IncomingAlert("RSI is low", "BSE:BAJAJAUTO")),
        ("[long] at 5", IncomingAlert("[long] at 5")),
    ],
)
def test_a_text_of_tradingview_is_a_name_and_perhaps_a_symbol(
    text: str, alert: IncomingAlert
) -> None:
    assert read("tradingview", text) == IncomingMessage((alert,))


@pytest.mark.parametrize(
    ("chart", "symbol"),
    [
        ({"ticker": "SBIN", "exchange": "NSE"}, "NSE:SBIN"),
        ({"ticker": "M&M", "exchange": "NSE"}, "NSE:MM"),
        ({"ticker": "M_M", "exchange": "NSE_DL"}, "NSE:MM"),
        ({"ticker": "NSE:BAJAJ_AUTO"}, "NSE:BAJAJAUTO"),
        ({"ticker": "NSE:NIFTY", "exchange": "NSE"}, "NSE:NIFTY"),
        ({"symbol": "MCX_DLY:GOLD"}, "MCX:GOLD"),
        ({"symbol": "SBIN", "exchange": "BSE"}, "BSE:SBIN"),
        ({"ticker": "NIFTY25NOVFUT", "exchange": "NSE"}, "NSE:NIFTY25NOVFUT"),
        ({}, ""),
    ],
)
def test_json_of_tradingview_names_the_symbol_of_its_chart(
    chart: dict[str, object], symbol: str
) -> None:
    body = {"name": "buy", "price": "820.50", "time": "2026-11-27T04:30:00Z", "id": "1", **chart}
    alert = IncomingAlert("buy", symbol, 820.5, "2026-11-27T04:30:00Z")
    assert read("tradingview", body) == IncomingMessage((alert,), "1")


def test_tradingview_writes_nan_for_a_price_that_it_has_not() -> None:
    assert read_one("tradingview", {"name": "buy", "price": "NaN"}).price is None


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ("", "name", "missing"),
        ("NSE:SBIN", "name", "missing"),
        ("one line\nand another", "name", "one line"),
        ("buy now 10:30", "symbol", "The exchange must be one of"),
        ("buy NASDAQ:AAPL", "symbol", "The exchange must be one of"),
        ("buy NSE:NIFTY1!", "symbol", "a chain of contracts"),
        ("buy {{exchange}}:{{ticker}}", "name", "a placeholder"),
        ('{"name": "buy", "price": NaN}', "price", "not a JSON number"),
        ('{"name": "buy"', "", "not valid JSON"),
        ({"name": "buy", "ticker": "NIFTY1!", "exchange": "NSE"}, "ticker", "a chain of contracts"),
        ({"name": "buy", "ticker": "NSE:NIFTYX2025"}, "ticker", "in TradingView's form"),
        ({"name": "buy", "ticker": "NSE:NIFTY251125C26000"}, "ticker", "in TradingView's form"),
        ({"name": "buy", "ticker": "SBIN/INFY", "exchange": "NSE"}, "ticker", "is not a symbol"),
        ({"name": "buy", "ticker": "___", "exchange": "NSE"}, "ticker", "Nothing follows"),
        ({"name": "buy", "ticker": "SBIN"}, "exchange", "missing beside the ticker"),
        ({"name": "buy", "symbol": "SBIN"}, "exchange", "missing beside the symbol"),
        ({"name": "buy", "exchange": "NSE"}, "ticker", "missing beside the exchange"),
        ({"name": "buy", "ticker": "", "exchange": "NSE"}, "ticker", "missing beside the exchange"),
        ({"name": "buy", "id": "{{strategy.order.id}}"}, "id", "a placeholder"),
        ({"name": "buy", "price": "{{plot_0}}"}, "price", "a placeholder"),
    ],
)
def test_what_is_wrong_in_a_message_of_tradingview_is_said(
    body: object, field: str, message: str
) -> None:
    path, said = refusal("tradingview", body)
    assert path == field
    assert message in said


# ChartInk.


def test_each_stock_of_a_scan_is_an_alert() -> None:
    name = "Alert for Short term breakouts"
    assert read("chartink", SCAN) == IncomingMessage(
        (
            IncomingAlert(name, "NSE:SEPOWER", 3.75, "2:34 pm"),
            IncomingAlert(name, "NSE:ASTEC", 541.8, "2:34 pm"),
            IncomingAlert(name, "NSE:EDUCOMP", 2.1, "2:34 pm"),
        )
    )


def test_stocks_are_written_without_blanks_and_signs() -> None:
    scan = {**SCAN, "stocks": " M&M , BAJAJ-AUTO,L&TFH", "trigger_prices": "1, 2 ,3"}
    assert [(alert.symbol, alert.price) for alert in read("chartink", scan).alerts] == [
        ("NSE:MM", 1),
        ("NSE:BAJAJAUTO", 2),
        ("NSE:LTFH", 3),
    ]


def test_a_stock_that_is_named_twice_is_one_alert() -> None:
    scan = {**SCAN, "stocks": "INFY,TCS,INFY", "trigger_prices": "1,2,3"}
    alerts = read("chartink", scan).alerts
    assert [(alert.symbol, alert.price) for alert in alerts] == [("NSE:INFY", 1), ("NSE:TCS", 2)]


def test_an_alert_without_a_name_has_that_of_its_scan() -> None:
    assert read("chartink", {**SCAN, "alert_name": ""}).alerts[0].name == "Short term breakouts"


def test_prices_may_be_missing() -> None:
    for prices in ("", None):
        alerts = read("chartink", {**SCAN, "trigger_prices": prices}).alerts
        assert [alert.price for alert in alerts] == [None] * 3


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"alert_name": None, "scan_name": None}, "scan_name", "missing"),
        ({"stocks": ""}, "stocks", "names no stock"),
        ({"stocks": None}, "stocks", "names no stock"),
        ({"stocks": ["INFY"]}, "stocks", "must be a string"),
        ({"stocks": "INFY,,TCS"}, "stocks", "is not a code of NSE"),
        ({"stocks": "INFY,TCS"}, "trigger_prices", "has 3 prices for 2 stocks"),
        ({"stocks": "INFY,TCS,500325"}, "stocks", "a number of BSE"),
        ({"stocks": "INFY,TCS,tcs"}, "stocks", "is not a code of NSE"),
        ({"trigger_prices": "1,2,x"}, "trigger_prices", "must be a price"),
        ({"stocks": "A," * MAX_STOCKS + "A"}, "stocks", "more than 1000"),
    ],
)
def test_what_is_wrong_in_a_scan_is_said(
    changes: dict[str, object], field: str, message: str
) -> None:
    path, said = refusal("chartink", {**SCAN, **changes})
    assert path == field
    assert message in said
