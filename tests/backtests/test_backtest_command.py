"""`manage.py backtest`: an algorithm and candles from files."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import User
from apps.backtests import tasks
from apps.backtests.models import BacktestKind
from apps.engine.candles import Candles
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.market.bars import at, flat_candles, store_candles
from tests.openapi import long_numbers


@pytest.fixture
def candles(tmp_path: Path) -> Path:
    return written(tmp_path / "ABC_15m.csv", wave_candles("2024-01-01", 45))


def written(path: Path, bars: Candles) -> Path:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["timestamp", "open", "high", "low", "close", "volume"])
        columns = (bars.time, bars.open, bars.high, bars.low, bars.close, bars.volume)
        rows.writerows(zip(*(column.tolist() for column in columns), strict=True))
    return path


def described(folder: Path, **steps: object) -> Path:
    path = folder / "algorithm.json"
    path.write_text(json.dumps({"name": "Crossing averages", **make.steps(**steps)}))
    return path


def backtest(*arguments: object, **options: Any) -> str:
    out = StringIO()
    call_command("backtest", *map(str, arguments), stdout=out, **options)
    return out.getvalue()


@pytest.mark.parametrize("options", [{"symbol": "NSE:ABC"}, {"json": True}])
def test_a_receipt_refuses_options_that_it_would_not_read(
    options: dict[str, Any], tmp_path: Path, candles: Path
) -> None:
    receipt = tmp_path / "receipt.json"
    receipt.write_text(backtest(described(tmp_path), candles=candles, json=True))
    with pytest.raises(CommandError, match="a receipt names its symbol"):
        backtest(receipt, candles=candles, **options)


def test_the_summary_names_symbol_range_and_metrics(tmp_path: Path, candles: Path) -> None:
    output = backtest(described(tmp_path), candles=candles)
    first, *lines = output.splitlines()
    assert first == "NSE:ABC: 1,075 bars, 2024-01-01T03:45:00.000Z to 2024-03-01T09:45:00.000Z"
    assert any(line.startswith("  Net profit ") for line in lines)
    assert any(line.startswith("  Charges ") and not line.endswith(" 0.00") for line in lines)
    free = make.steps()["executionSettings"] | {"charges": "none"}
    output = backtest(described(tmp_path, executionSettings=free), candles=candles)
    assert output.splitlines()[-1] == "Note: No charges are included for NSE:ABC."


def test_prices_that_look_split_are_noted(tmp_path: Path) -> None:
    bars = wave_candles("2024-01-01", 45)
    factor = np.where(bars.time < at("2024-02-15 00:00"), 10.0, 1.0)
    prices = {name: getattr(bars, name) * factor for name in ("open", "high", "low", "close")}
    split = Candles.build(bars.time, volume=bars.volume, **prices)
    output = backtest(described(tmp_path), candles=written(tmp_path / "ABC_15m.csv", split))
    note = "Note: Prices of NSE:ABC look split and are not adjusted for it: 10:1 on 2024-02-15."
    assert note in output.splitlines()


@pytest.mark.parametrize("timeframe", ["15m", "30m", "1h"])
def test_the_command_gives_the_result_of_the_service(
    api: Api, alice: User, tmp_path: Path, timeframe: str
) -> None:
    bars = wave_candles("2024-01-01", 45).slice(
        0, -3
    )  # the last hour, and half hour, are not finished
    candles = written(tmp_path / "ABC_15m.csv", bars)
    store_candles("NSE:ABC", "15m", bars)
    client = api(alice)
    basic = {**make.steps()["basicInfo"], "symbols": ["NSE:ABC"], "timeframe": timeframe}
    span = {"startDate": "2024-01-01", "endDate": "2024-03-01"}
    steps = make.steps(basicInfo=basic)
    of_days = {"type": "SMA", "period": 2, "timeframe": "1d"}
    above = {**steps["entryConditions"]["conditions"][0], "indicator2": of_days}
    steps["entryConditions"]["conditions"].append(above)
    steps["entryConditions"]["logicalOperator"] = "OR"
    algorithm = make.algorithm(alice, **steps)
    created = client.post("/api/backtests", {"algorithmId": algorithm.pk, **span}).json()
    run_queued()
    path = f"/api/backtests/{created['id']}"
    config = described(tmp_path, **steps)
    output = json.loads(backtest(config, candles=candles, json=True))
    assert long_numbers(output) == []
    completed = client.get(path).json()
    assert output["performance"] == completed["performance"]
    assert output["receipt"]["candles"] == completed["receipt"]["candles"]
    assert output["receipt"]["coverage"] == completed["receipt"]["coverage"]
    assert output["notes"] == output["receipt"]["notes"]
    assert output["trades"][:100] == client.get(path + "/trades?limit=100").json()["data"]
    assert output["equity"] == client.get(path + "/equity").json()["points"]


def test_candles_of_read_symbols_come_from_their_files(
    api: Api, alice: User, tmp_path: Path, candles: Path
) -> None:
    """The result is that of the service, and its receipt is reproduced from the same files."""
    whole = wave_candles("2024-01-01", 45)
    index = whole.select(np.arange(len(whole)) % 5 > 0)
    vix = written(tmp_path / "vix.csv", index)
    store_candles("NSE:ABC", "15m", wave_candles("2024-01-01", 45))
    store_candles("NSE:INDIAVIX", "15m", index)
    price = {"type": "PRICE", "on": "NSE:INDIAVIX"}
    crossing = {
        "type": "indicator_indicator",
        "indicator1": price,
        "operator": "crosses_above",
        "indicator2": {"type": "SMA", "period": 9, "on": "NSE:INDIAVIX"},
        "side": "both",
    }
    basic = {**make.steps()["basicInfo"], "symbols": ["NSE:ABC"]}
    entries = {"positionType": "long", "conditions": [crossing]}
    steps = make.steps(basicInfo=basic, entryConditions=entries)
    span = {"startDate": "2024-01-01", "endDate": "2024-03-01"}
    algorithm, client = make.algorithm(alice, **steps), api(alice)
    created = client.post("/api/backtests", {"algorithmId": algorithm.pk, **span}).json()
    run_queued()
    config, other = described(tmp_path, **steps), f"NSE:INDIAVIX={vix}"
    text = backtest(config, "--other", other, candles=candles, json=True)
    output = json.loads(text)
    completed = client.get(f"/api/backtests/{created['id']}").json()
    assert output["performance"] == completed["performance"]
    assert output["performance"]["totalTrades"] > 3
    for field in ("candles", "coverage"):
        assert output["receipt"][field] == completed["receipt"][field]
    receipt = tmp_path / "receipt.json"
    receipt.write_text(text)
    repeated = backtest(receipt, "--other", other, candles=candles)
    assert "differs" not in repeated
    for path in (config, receipt):
        with pytest.raises(CommandError, match=r"also reads NSE:INDIAVIX: add --other NSE:IND"):
            backtest(path, candles=candles)
    unread = f"NSE:NIFTY={vix}"
    with pytest.raises(CommandError, match=r"does not read NSE:NIFTY\."):
        backtest(config, "--other", other, "--other", unread, candles=candles)
    for word in ("vix.csv", "VIX=vix.csv", "NSE:INDIAVIX="):
        with pytest.raises(CommandError, match="--other"):
            backtest(config, "--other", word, candles=candles)


def scattered(count: int, *, every: int) -> Candles:
    """Return pairs of days of a share, with this many dates between pairs."""
    first = at("2015-01-01 00:00")
    prices = [100.0 + n % 7 for n in range(count)]
    return flat_candles([first + 86_400 * (every * (n // 2) + n % 2) for n in range(count)], prices)


def test_little_history_leads_the_notes_and_too_little_is_refused(tmp_path: Path) -> None:
    exits = {"maxHoldingCandles": 3}
    basic = {**make.steps()["basicInfo"], "timeframe": "1d"}
    above = {
        "type": "indicator_value",
        "indicator": {"type": "PRICE"},
        "operator": "above",
        "value": 104,
    }
    settings = make.steps()["executionSettings"] | {"productType": "delivery"}
    config = described(
        tmp_path,
        basicInfo=basic,
        exitConditions=exits,
        executionSettings=settings,
        entryConditions={"positionType": "long", "conditions": [above]},
        positionSizing={"method": "fixed_quantity", "quantity": 1},
    )
    candles = written(tmp_path / "ABC_1d.csv", scattered(60, every=14))
    output = json.loads(backtest(config, candles=candles, json=True))
    assert output["notes"][0]["code"] == "low_coverage"
    (coverage,) = output["receipt"]["coverage"]
    assert coverage["percentage"] < 25
    candles = written(tmp_path / "ABC_1d.csv", scattered(60, every=98))
    with pytest.raises(CommandError, match="of this range since 2015-01-01"):
        backtest(config, candles=candles)


def test_bars_that_finish_no_longer_candle_are_too_few(tmp_path: Path) -> None:
    candles = written(tmp_path / "ABC_15m.csv", wave_candles("2024-01-01", 1).slice(0, 3))
    basic = {**make.steps()["basicInfo"], "timeframe": "1h"}
    with pytest.raises(CommandError, match="NSE:ABC has 0 bars in the range"):
        backtest(described(tmp_path, basicInfo=basic), candles=candles)


def test_an_error_is_printed_once(tmp_path: Path, candles: Path) -> None:
    config = described(tmp_path, exitConditions={"stopLos": {"type": "points", "points": 5}})
    with pytest.raises(CommandError) as refused:
        backtest(config, candles=candles)
    assert str(refused.value).count("did you mean stopLoss?") == 1


def test_missing_fields_of_an_algorithm_are_listed(tmp_path: Path, candles: Path) -> None:
    with pytest.raises(CommandError) as refused:
        backtest(described(tmp_path, positionSizing={}, exitConditions={}), candles=candles)
    output = str(refused.value).splitlines()
    assert output[0] == "These steps are not complete: positionSizing, exitConditions."
    assert "  positionSizing.method is required." in output


@pytest.mark.parametrize(
    ("text", "output"), [("{", "not valid JSON"), ("[]", "must hold a JSON object"), ("", "JSON")]
)
def test_a_file_without_an_algorithm_is_refused(
    tmp_path: Path, candles: Path, text: str, output: str
) -> None:
    path = tmp_path / "algorithm.json"
    path.write_text(text)
    with pytest.raises(CommandError, match=output):
        backtest(path, candles=candles)


def test_a_missing_file_is_named(tmp_path: Path, candles: Path) -> None:
    with pytest.raises(CommandError, match=r"none\.json: No such file"):
        backtest(tmp_path / "none.json", candles=candles)
    with pytest.raises(CommandError, match=r"none\.csv: No such file"):
        backtest(described(tmp_path), candles=tmp_path / "none.csv")


def test_a_receipt_is_reproduced_from_its_candles(
    tmp_path: Path, candles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    receipt = tmp_path / "receipt.json"
    receipt.write_text(backtest(described(tmp_path), candles=candles, json=True))
    call_command("backtest", str(receipt), candles=candles)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7
    assert all(line.endswith(" equal") for line in lines)

    bars = wave_candles("2024-01-01", 45)
    halved = Candles.build(
        bars.time,
        open=bars.open,
        high=bars.high,
        low=bars.low,
        close=bars.close,
        volume=np.where(np.arange(len(bars)) < 20, bars.volume / 2, bars.volume),
    )
    call_command("backtest", str(receipt), candles=written(tmp_path / "ABC_15m_2.csv", halved))
    assert capsys.readouterr().out.splitlines()[-1] == (
        "Candles of NSE:ABC (15m) differ in 2024-01."
    )
    prices = Candles.build(
        bars.time,
        open=bars.open,
        high=bars.high * 1.01,
        low=bars.low * 0.99,
        close=bars.close,
        volume=bars.volume,
    )
    with pytest.raises(CommandError, match="The result differs from the receipt"):
        call_command("backtest", str(receipt), candles=written(tmp_path / "ABC_15m.csv", prices))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"receipt": 1}', "must hold an object with receipt, configuration, candleSeries"),
        (
            '{"receipt": {}, "configuration": {}, "candleSeries": []}',
            "must have the numbers start, end, capital, seed",
        ),
    ],
)
def test_a_file_without_a_receipt_is_refused(
    tmp_path: Path, candles: Path, text: str, message: str
) -> None:
    receipt = tmp_path / "receipt.json"
    receipt.write_text(text)
    with pytest.raises(CommandError, match=message):
        call_command("backtest", str(receipt), candles=candles)


@pytest.mark.django_db
def test_a_result_of_the_service_is_reproduced_from_a_file(
    tmp_path: Path, candles: Path, api: Api, alice: User
) -> None:
    """A study works too, with only the symbol's own file and without a database."""
    store_candles("NSE:ABC", "15m", wave_candles("2024-01-01", 45))
    for kind in ("backtest", "monte_carlo"):
        study = submit(alice, kind=BacktestKind(kind), overrides={"symbols": ["NSE:ABC"]})
        run_queued()
        api(alice).get(f"/api/backtests/{study.pk}/evidence")
        tasks.run_evidence_job(study.pk)
        answer = api(alice).get(f"/api/backtests/{study.pk}/receipt")
        receipt = tmp_path / "receipt.json"
        receipt.write_bytes(answer.content)
        out = StringIO()
        call_command("backtest", str(receipt), candles=candles, stdout=out)
        # Of a study the command does not look at decisions again.
        equal = 8 if kind == "backtest" else 7
        assert out.getvalue().count(" equal") == equal, out.getvalue()


def test_files_hold_no_alerts(tmp_path: Path, candles: Path) -> None:
    condition = {"type": "signal", "name": "breakout"}
    entries = {"positionType": "long", "conditions": [condition]}
    config = described(tmp_path, entryConditions=entries)
    with pytest.raises(CommandError, match=r"reads alerts \(breakout\)"):
        backtest(config, symbol="NSE:ABC", candles=candles)
