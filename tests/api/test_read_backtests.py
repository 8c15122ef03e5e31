"""GET /api/backtests and below"""

import re
from typing import Any

import pytest

from apps.accounts.models import User
from apps.backtests.models import Backtest, TradeBlock
from apps.backtests.running import results
from apps.core.api.resources import ARROW
from tests import make
from tests.api.whole_tables import text, whole_arrow, whole_csv
from tests.backtests.price_series import wave_candles
from tests.backtests.workers import run_queued
from tests.conftest import Api, client_of
from tests.error_responses import assert_error
from tests.market.bars import store_candles

PATH = "/api/backtests"
RANGE = {"startDate": "2024-02-01", "endDate": "2024-02-29"}
LINK = re.compile(r'<(?P<address>[^>]*)>; rel="(?P<name>\w+)"')


@pytest.fixture(scope="module")
def alice(kept: None) -> User:
    return make.user("alice")


@pytest.fixture(scope="module")
def completed(alice: User) -> dict[str, Any]:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    client = client_of(alice)
    algorithm = make.algorithm(alice, **make.steps())
    created = client.post(PATH, {"algorithmId": algorithm.pk, "name": "One", **RANGE}).json()
    run_queued()
    backtest: dict[str, Any] = client.get(f"{PATH}/{created['id']}").json()
    return backtest


def test_reading_a_backtest_unpacks_neither_its_curve_nor_its_trades(
    api: Api, alice: User, completed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(results, "unpack_array")
    assert api(alice).get(f"{PATH}/{completed['id']}").json() == completed


def test_trades_are_paged_and_add_up(api: Api, alice: User, completed: dict[str, Any]) -> None:
    client, path = api(alice), f"{PATH}/{completed['id']}/trades"
    whole = client.get(path + "?limit=100").json()
    trades = whole["data"]
    assert whole["pagination"]["total"] == len(trades) > 3
    assert (
        list(trades[0])
        == """
        symbol side quantity entryTime entryDate entryPrice exitTime exitDate exitPrice exitReason
        grossProfit charges profit returnPercentage bars maxAdverseExcursion maxFavorableExcursion
        entryDelayBars entryDelayMinutes entryBarVolume entryVolumeShare exitDelayBars
        exitDelayMinutes exitBarVolume exitVolumeShare
    """.split()
    )
    profit = sum(trade["profit"] for trade in trades)
    assert profit == pytest.approx(completed["performance"]["netProfit"])
    pages = [client.get(path + f"?limit=2&page={n}").json()["data"] for n in (1, 2)]
    assert pages[0] + pages[1] == trades[:4]
    assert client.get(path + "?page=1000").json()["data"] == []


def test_excursions_of_trades_agree_with_the_figures(
    api: Api, alice: User, completed: dict[str, Any]
) -> None:
    client, path = api(alice), f"{PATH}/{completed['id']}/trades?limit=100"
    trades, performance = client.get(path).json()["data"], completed["performance"]
    for name in ("AdverseExcursion", "FavorableExcursion"):
        excursions = [trade["max" + name] for trade in trades]
        assert sum(excursions) / len(excursions) == pytest.approx(performance["average" + name])
        assert max(excursions) == performance["largest" + name] > 0
    second_page = client.get(f"{path.partition('?')[0]}?limit=2&page=2").json()["data"]
    assert second_page == trades[2:4]
    TradeBlock.objects.update(excursions=None)  # as results were stored before
    older = client.get(path).json()["data"]
    without = {"maxAdverseExcursion": None, "maxFavorableExcursion": None}
    assert older == [trade | without for trade in trades]
    TradeBlock.objects.update(fills=None)
    older = client.get(path).json()["data"]
    without |= {
        f"{end}{name}": None
        for end in ("entry", "exit")
        for name in ("DelayBars", "DelayMinutes", "BarVolume", "VolumeShare")
    }
    assert older == [trade | without for trade in trades]
    assert client.get(f"{PATH}/{completed['id']}/report").status_code == 200


def test_the_curve_keeps_its_extremes_in_few_points(
    api: Api, alice: User, completed: dict[str, Any]
) -> None:
    client, path = api(alice), f"{PATH}/{completed['id']}/equity"
    whole = client.get(path + "?points=5000").json()["points"]
    few = client.get(path + "?points=10").json()["points"]
    assert (len(few), len(whole)) == (10, 21 * 25)
    assert set(few[0]) == {"time", "equity", "low", "high", "drawdown"}
    assert min(p["low"] for p in few) == min(p["equity"] for p in whole)
    assert max(p["high"] for p in few) == max(p["equity"] for p in whole)
    assert few[-1] == {
        **whole[-1],
        "low": few[-1]["low"],
        "high": few[-1]["high"],
        "drawdown": few[-1]["drawdown"],
    }
    performance = completed["performance"]
    assert max(p["drawdown"] for p in few) == pytest.approx(performance["maxDrawdown"])
    last = completed["initialCapital"] + performance["netProfit"]
    assert whole[-1]["equity"] == pytest.approx(last)


def test_trades_and_curve_come_as_csv_too(api: Api, alice: User, completed: dict[str, Any]) -> None:
    """The rows and columns equal those in JSON; an error stays in the envelope."""
    client, path = api(alice), f"{PATH}/{completed['id']}"
    for below, name in (("/trades?limit=3&page=2", "data"), ("/equity?points=4", "points")):
        rows = client.get(path + below).json()[name]
        response = client.get(path + below, headers={"Accept": "text/csv"})
        assert (response.status_code, response["Content-Type"]) == (200, "text/csv; charset=utf-8")
        lines = response.content.decode().split("\r\n")
        assert lines[0] == ",".join(rows[0])
        assert lines[1:] == [
            *(",".join("" if v is None else str(v) for v in row.values()) for row in rows),
            "",
        ]
    empty = client.get(path + "/trades?page=1000", headers={"Accept": "text/csv"})
    assert empty.content.decode().count("\r\n") == 1
    refused = client.get(path + "/equity?points=0", headers={"Accept": "text/csv"})
    assert_error(refused, 400, "VALIDATION_ERROR", field="points")
    mixed = client.get(path, headers={"Accept": "text/csv"})
    assert_error(mixed, 406, "VALIDATION_ERROR", reason="not_acceptable")


@pytest.mark.parametrize("query", ["", "&symbol=NSE:NIFTY"])
def test_all_trades_come_in_one_table(
    api: Api,
    alice: User,
    completed: dict[str, Any],
    query: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client, path = api(alice), f"{PATH}/{completed['id']}/trades"
    listed = client.get(f"{path}?limit=100{query}").json()["data"]
    split_result(completed["id"], size=3, monkeypatch=monkeypatch)
    assert whole_csv(client, f"{path}?whole=true{query}") == [text(trade) for trade in listed]
    assert whole_arrow(client, f"{path}?whole=true{query}") == listed


def split_result(backtest_id: str, *, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store the trades in blocks of another size."""
    backtest = Backtest.objects.get(pk=backtest_id)
    trades, curve = results.load_result(backtest)
    series = backtest.result.candle_series
    backtest.result.delete()
    monkeypatch.setattr(results, "TRADES_PER_BLOCK", size)
    results.save_result(
        backtest,
        trades=trades,
        curve=curve,
        candle_series=series or [],
    )
    assert TradeBlock.objects.filter(result=backtest.pk).count() > 1


def test_the_whole_curve_has_every_bar(
    api: Api, alice: User, completed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, path = api(alice), f"{PATH}/{completed['id']}/equity"
    points = client.get(f"{path}?points=5000").json()["points"]
    assert 100 < len(points) < 5000
    monkeypatch.setattr(results, "POINTS_PER_BLOCK", 70)
    assert whole_csv(client, path + "?whole=true") == [text(point) for point in points]
    assert whole_arrow(client, path + "?whole=true") == points


def test_a_whole_table_is_no_page_and_no_json(
    api: Api, alice: User, completed: dict[str, Any]
) -> None:
    client, path = api(alice), f"{PATH}/{completed['id']}"
    tables = {"Accept": "text/csv"}
    for below, name in (("trades?limit=3", "limit"), ("equity?points=3", "points")):
        both = client.get(f"{path}/{below}&whole=true", headers=tables)
        assert_error(both, 400, "VALIDATION_ERROR", field=name)
        json = client.get(f"{path}/{below.partition('?')[0]}?whole=true")
        assert_error(json, 400, "VALIDATION_ERROR", field="whole")
    unknown = client.get(f"{path}/trades?whole=yes", headers=tables)
    assert_error(unknown, 400, "VALIDATION_ERROR", field="whole")
    foreign = client.get(f"{path}/trades?whole=true&symbol=NSE:TCS", headers=tables)
    assert_error(foreign, 400, "VALIDATION_ERROR", field="symbol")


def test_a_page_comes_as_arrow_too(api: Api, alice: User, completed: dict[str, Any]) -> None:
    client, path = api(alice), f"{PATH}/{completed['id']}/trades?limit=3&page=2"
    assert whole_arrow(client, path) == client.get(path).json()["data"]
    assert client.get(path, headers={"Accept": ARROW})["X-Total-Count"]


def test_a_table_says_how_many_there_are_and_where_its_neighbours_stand(
    api: Api, alice: User, completed: dict[str, Any]
) -> None:
    client, path = api(alice), f"{PATH}/{completed['id']}/trades"
    listed = client.get(f"{path}?limit=100").json()
    address, lines, links = f"{path}?limit=3", 0, []
    while address:
        answer = client.get(address, headers={"Accept": "text/csv"})
        assert answer["X-Total-Count"] == str(listed["pagination"]["total"])
        lines += len(answer.text.splitlines()) - 1
        links.append({name: address for address, name in LINK.findall(answer.get("Link", ""))})
        address = links[-1].get("next", "")
    assert lines == len(listed["data"])
    assert len(links) == -(-lines // 3)
    assert links[0] == {"next": f"{path}?limit=3&page=2"}
    assert links[1]["prev"] == f"{path}?limit=3&page=1"


def test_trades_of_one_symbol_have_their_own_pages(
    api: Api, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trades are in blocks with trades of other symbols."""
    monkeypatch.setattr("apps.backtests.running.results.TRADES_PER_BLOCK", 3)
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    store_candles("NSE:SBIN", "15m", wave_candles("2024-01-01", 45))
    basic = make.steps()["basicInfo"] | {"symbols": ["NSE:NIFTY", "NSE:SBIN"]}
    algorithm = make.algorithm(alice, **make.steps(basicInfo=basic))
    client = api(alice)
    path = f"{PATH}/{client.post(PATH, {'algorithmId': algorithm.pk, **RANGE}).json()['id']}/trades"
    assert client.get(f"{path}?symbol=NSE:SBIN").json()["data"] == []
    run_queued()
    whole = client.get(f"{path}?limit=100").json()["data"]
    trades_of_symbol = [trade for trade in whole if trade["symbol"] == "NSE:SBIN"]
    assert 2 < len(trades_of_symbol) < len(whole)
    paged = client.get(f"{path}?limit=2&page=2&symbol=NSE:SBIN").json()
    assert (paged["data"], paged["pagination"]["total"]) == (
        trades_of_symbol[2:4],
        len(trades_of_symbol),
    )
    refused = client.get(f"{path}?symbol=NSE:TCS")
    allowed = ["NSE:NIFTY", "NSE:SBIN"]
    assert_error(refused, 400, "VALIDATION_ERROR", field="symbol", allowedValues=allowed)


def test_a_response_without_pages_has_no_page_fields(
    api: Api, alice: User, completed: dict[str, Any]
) -> None:
    client, path = api(alice), f"{PATH}/{completed['id']}"
    alone = client.get(path + "/trades?limit=100", headers={"Accept": "text/csv"})
    beyond = client.get(path + "/trades?page=1000", headers={"Accept": "text/csv"})
    assert "Link" not in alone
    assert "Link" not in beyond
    assert beyond["X-Total-Count"] == alone["X-Total-Count"]
    curve = client.get(path + "/equity", headers={"Accept": "text/csv"})
    assert "X-Total-Count" not in curve


@pytest.mark.parametrize("points", ["0", "5001", "x", "-1"])
def test_points_have_bounds(api: Api, alice: User, completed: dict[str, Any], points: str) -> None:
    response = api(alice).get(f"{PATH}/{completed['id']}/equity?points={points}")
    assert_error(response, 400, "VALIDATION_ERROR", field="points", value=points)


def test_a_queued_backtest_has_no_trades_yet(
    api: Api, alice: User, completed: dict[str, Any]
) -> None:
    client = api(alice)
    queued = client.post(PATH, {"algorithmId": completed["algorithmId"], **RANGE}).json()
    assert client.get(f"{PATH}/{queued['id']}/trades").json()["data"] == []
    assert client.get(f"{PATH}/{queued['id']}/equity").json() == {"points": []}


def test_the_list_is_filtered_and_sorted(api: Api, alice: User, completed: dict[str, Any]) -> None:
    client = api(alice)
    body = {"algorithmId": completed["algorithmId"], "name": "Another", **RANGE}
    queued = client.post(PATH, body).json()

    def ids(query: str) -> list[str]:
        return [row["id"] for row in client.get(f"{PATH}?{query}").json()["data"]]

    assert ids("") == [queued["id"], completed["id"]]
    assert ids("order=asc") == [completed["id"], queued["id"]]
    assert ids("sort=name&order=asc") == [queued["id"], completed["id"]]
    assert ids("status=completed") == [completed["id"]]
    assert ids(f"algorithmId={completed['algorithmId']}") == [queued["id"], completed["id"]]
    assert ids(f"algorithmId={'0' * 24}") == []
    assert ids("kind=backtest&limit=1&page=2") == [completed["id"]]


@pytest.mark.parametrize("query", ["status=done", "kind=x", "sort=status", "order=up", "page=0"])
def test_a_bad_filter_is_refused(api: Api, alice: User, query: str) -> None:
    field, value = query.split("=")
    response = api(alice).get(f"{PATH}?{query}")
    assert_error(response, 400, "VALIDATION_ERROR", field=field, value=value)


@pytest.mark.parametrize("below", ["", "/trades", "/equity"])
@pytest.mark.parametrize("backtest_id", ["x", "0" * 24, "theirs"])
def test_unknown_and_foreign_backtests_get_the_same_response(
    api: Api, bob: User, completed: dict[str, Any], below: str, backtest_id: str
) -> None:
    wanted = completed["id"] if backtest_id == "theirs" else backtest_id
    response = api(bob).get(f"{PATH}/{wanted}{below}")
    error = assert_error(response, 404, "BACKTEST_NOT_FOUND", backtestId=wanted)
    assert error["message"] == "There is no such backtest."
    assert api(bob).get(PATH).json()["data"] == []
