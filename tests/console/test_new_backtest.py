"""The form of a new backtest: studies with their parameters, checked while the user types."""

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.models import Algorithm
from apps.algorithms.services import BuiltInTemplate
from apps.backtests.models import Backtest, BacktestKind, WorkSpeed
from apps.console.backtesting.study_forms import numbers_of
from apps.console.schema_forms import FormNode
from apps.engine.studies import OptimizationConfig
from apps.engine.studies.search_errors import path_errors
from tests import make
from tests.backtests.price_series import wave_candles
from tests.console.conftest import Browse
from tests.console.forms import GALLERY, HOSTILE_TEXTS
from tests.market.bars import store_candles

RANGE = {"startDate": "2024-02-01", "endDate": "2024-02-29"}
PART = {"HX-Request": "true"}
PERIOD = "entryConditions.conditions[0].indicator1.period"


@pytest.fixture
def client(browse: Browse, alice: User) -> Client:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    return browse(alice)


@pytest.fixture
def algorithm(alice: User) -> Algorithm:
    return make.algorithm(alice, **make.steps())


@pytest.fixture
def address(algorithm: Algorithm) -> str:
    return f"/app/algorithms/{algorithm.pk}/backtest"


def shown(form: list[FormNode]) -> dict[str, str]:
    """Return a browser's POST of an untouched form."""
    leaves = [node for root in form for node in root.leaves() if not node.is_group]
    return {node.path: "" if node.value is None else str(node.value) for node in leaves}


def choose(client: Client, address: str, kind: BacktestKind, **typed: str) -> dict[str, str]:
    """Choose a kind; return the browser's next POST."""
    sent = {**RANGE, "kind": kind, **typed, "change": "choose:kind"}
    answer = client.post(address, sent, headers=PART)
    return {**RANGE, "kind": kind, **typed, **shown(answer.context["form"])}


@pytest.mark.parametrize("strategy", GALLERY)
def test_every_number_that_is_offered_can_be_tried_as_proposed(strategy: BuiltInTemplate) -> None:
    numbers = numbers_of(dict(strategy.steps))
    assert numbers
    for number in numbers:
        config = OptimizationConfig.read({"parameters": [number.proposal()]})
        assert path_errors(strategy.steps, config.parameters) == ()
        assert 1 < config.parameters[0].count <= 15


def test_a_number_field_is_named_by_its_place(algorithm: Algorithm) -> None:
    numbers = {row.path: row for row in numbers_of(algorithm.configuration)}
    assert numbers[PERIOD].label == "Condition 1 · Indicator 1 EMA · Period: 9"
    assert numbers[PERIOD].proposal() == {"path": PERIOD, "from": 5, "to": 17, "step": 2}
    assert "executionSettings.initialCapital" not in numbers


@pytest.mark.parametrize("kind", BacktestKind)
def test_each_kind_of_backtest_is_submitted(
    client: Client, address: str, kind: BacktestKind
) -> None:
    form = choose(client, address, kind)
    assert client.post(address, form).status_code == 302
    backtest = Backtest.objects.get()
    assert backtest.kind == kind
    parameters = [row["path"] for row in (backtest.study or {}).get("parameters", ())]
    searches = (BacktestKind.OPTIMIZATION, BacktestKind.WALK_FORWARD)
    assert parameters == ([PERIOD] if kind in searches else [])


def test_the_sets_and_the_time_are_shown_as_parameters_are_picked(
    client: Client, address: str
) -> None:
    WorkSpeed.objects.create(kind=BacktestKind.OPTIMIZATION, seconds=7200, units=7 * 500)
    form = choose(client, address, BacktestKind.OPTIMIZATION)
    typed = client.post(address, {**form, "change": "typing"}, headers=PART)
    assert b"7 sets. Takes about 4 hours." in typed.content
    assert b"<html" not in typed.content
    added = {**form, "change": "add:optimizationConfig.parameters"}
    form |= shown(client.post(address, added, headers=PART).context["form"])
    second = "optimizationConfig.parameters[1]"
    assert form[f"{second}.path"] not in ("", PERIOD)
    form |= {f"{second}.path": "exitConditions.stopLoss.percentage"}
    chosen = client.post(address, {**form, "change": f"choose:{second}.path"}, headers=PART)
    form |= shown(chosen.context["form"])
    assert float(form[f"{second}.from"]) > 0
    form |= {f"{second}.from": "0.5", f"{second}.to": "2", f"{second}.step": "0.5"}
    typed = client.post(address, {**form, "change": "typing"}, headers=PART)
    assert b"28 sets." in typed.content
    removed = {**form, "change": "remove:optimizationConfig.parameters[0]"}
    answer = client.post(address, removed, headers=PART)
    assert b"4 sets." in answer.content
    assert not Backtest.objects.exists()


@pytest.mark.parametrize(
    ("kind", "typed", "sentence"),
    [
        (
            "optimization",
            {"optimizationConfig.method": "random", "optimizationConfig.maxRuns": "3"},
            "3 of 7 sets.",
        ),
        (
            "walk_forward",
            {"walkForwardConfig.windows": "3"},
            "7 sets in each of 3 windows.",
        ),
        ("monte_carlo", {"monteCarloConfig.runs": "1500"}, "1,500 random paths."),
    ],
)
def test_the_size_of_a_study_is_shown(
    client: Client, address: str, kind: str, typed: dict[str, str], sentence: str
) -> None:
    form = choose(client, address, BacktestKind(kind)) | typed | {"change": "typing"}
    assert sentence in client.post(address, form, headers=PART).content.decode()


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("optimizationConfig.parameters[0].to", "1", "must not be less than from"),
        ("optimizationConfig.parameters[0].from", "many", "must be a number"),
        ("optimizationConfig.parameters[0].step", "", "is required"),
        ("optimizationConfig.parameters[0].path", "basicInfo.timeframe", "leads to a value"),
        ("optimizationConfig.maxRuns", "3", "is less than the 7 sets of the grid"),
        ("endDate", "2024-01-01", "must not be before startDate"),
    ],
)
def test_errors_are_shown_beside_their_fields(
    client: Client, address: str, field: str, text: str, message: str
) -> None:
    form = {**choose(client, address, BacktestKind.OPTIMIZATION), field: text}
    typed = client.post(address, {**form, "change": "typing"}, headers=PART)
    assert message in typed.context["problems"][field]
    assert message.removeprefix("is ").lower() in typed.content.decode().lower()
    refused = client.post(address, form)
    assert refused.status_code == 400
    assert f'value="{text}"' in refused.content.decode()
    assert not Backtest.objects.exists()


def test_the_form_begins_with_the_configuration_of_the_algorithm(
    client: Client, alice: User, algorithm: Algorithm, address: str
) -> None:
    own = {"windows": 4, "parameters": [{"path": PERIOD, "from": 5, "to": 10, "step": 5}]}
    algorithms.update(
        owner=alice, algorithm_id=algorithm.pk, changes={"walk_forward_config": own}, now=make.NOW
    )
    form = choose(client, address, BacktestKind.WALK_FORWARD)
    assert form["walkForwardConfig.windows"] == "4"
    assert form["walkForwardConfig.parameters[0].to"] == "10"


def test_missing_history_is_shown_before_submission(client: Client, address: str) -> None:
    form = {"startDate": "2025-02-01", "endDate": "2025-02-28", "change": "typing"}
    typed = client.post(address, form, headers=PART)
    assert "bars in this range" in typed.context["refused"]


def test_text_in_any_field_stays_text(client: Client, address: str) -> None:
    fields = choose(client, address, BacktestKind.OPTIMIZATION)
    for text in HOSTILE_TEXTS:
        form: dict[str, Any] = dict.fromkeys(fields, text) | {"kind": "optimization"}
        for change in ("typing", text):
            body = client.post(address, {**form, "change": change}, headers=PART).content.decode()
            assert text not in body or text.startswith("{{")


def test_filled_in_values_replace_those_of_the_algorithm(
    client: Client, address: str, algorithm: Algorithm
) -> None:
    store_candles("NSE:SBIN", "30m", wave_candles("2024-01-01", 45))
    fields = {node.path: node for node in client.get(address).context["overrides"]}
    assert [node.value for node in fields.values()] == ["", None, None, None, None]
    assert (fields["symbols"].default, fields["timeframe"].default) == ("NSE:NIFTY", "15m")
    typed = {
        "symbols": "nse:sbin",
        "timeframe": "30m",
        "initialCapital": "12,34,567.5",
        "slippage": "0.1",
        "charges": "none",
    }
    assert client.post(address, {**RANGE, **typed}).status_code == 302
    backtest = Backtest.objects.get()
    assert (backtest.symbols, backtest.timeframe) == (["NSE:SBIN"], "30m")
    assert float(backtest.initial_capital) == 1_234_567.5
    execution = backtest.configuration["executionSettings"]
    assert (execution["slippage"], execution["charges"]) == (0.1, "none")
    algorithm.refresh_from_db()
    assert algorithm.basic_info["symbols"] == ["NSE:NIFTY"]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("symbols", "SBIN", "SBIN "),
        ("timeframe", "2m", "must be"),
        ("initialCapital", "0", "must be between"),
        ("initialCapital", "much", "must be a number"),
        ("slippage", "6", "must be between"),
        ("charges", "some", "is not one of"),
    ],
)
def test_a_wrong_override_is_shown_beside_its_field(
    client: Client, address: str, name: str, text: str, problem: str
) -> None:
    answer = client.post(address, {**RANGE, name: text})
    assert answer.status_code == 400
    assert problem in answer.context["problems"][name]
    assert answer.context["refused"] == "Check the highlighted fields."
    page = answer.content.decode()
    assert '<details class="overrides" open>' in page
    typing = client.post(address, {**RANGE, name: text, "change": "typing"}, headers=PART)
    assert f'id="f-{name}-problem" hx-swap-oob="true">' in typing.content.decode()
    assert Backtest.objects.count() == 0
