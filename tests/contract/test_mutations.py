"""Ten thousand wrong requests, each with the right answer.

Either the body is accepted and reads back as sent, or it is refused in the envelope with the path
and the value, and nothing is stored. `make prove` runs the slow proof; another seed: `pytest
tests/contract/test_mutations.py -m slow --mutation-seed 7`.
"""

import json
import unicodedata
from dataclasses import dataclass, field
from typing import Any

import pytest
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.accounts.models import User
from apps.algorithms.configuration import STEPS
from apps.algorithms.models import Algorithm
from apps.backtests.models import Backtest
from tests import make
from tests.backtests.price_series import wave_candles
from tests.conftest import Api
from tests.contract.mutations import Json, Mutant, mutants
from tests.contract.senders import PROOF, Rows, Sender, run
from tests.contract.sent_requests import Sent, assert_refused, is_echo, read, same
from tests.contract.simulations import simulated
from tests.engine.configurations import complete
from tests.error_responses import assert_error
from tests.market.bars import store_candles

ALGORITHMS, BACKTESTS = "/api/trading/algorithms", "/api/backtests"
EVERY = 50
QUICK = pytest.param(0, 40, id="quick")

pytestmark = pytest.mark.usefixtures("quiet")

GOOD_ALGORITHMS = [
    {"name": "Cross", "description": "two\nlines", **make.steps()},
    {"name": "Whole", "isTemplate": True, "isPublic": True, **complete()},
    {
        **make.steps(
            positionSizing={
                "method": "volatility_based",
                "riskPercentage": 1,
                "atrPeriod": 10,
                "atrMultiplier": 1.5,
                "pyramiding": {"enabled": True, "maxEntries": 3},
            },
            entryConditions={
                "positionType": "long",
                "logicalOperator": "OR",
                "confirmationCandles": 2,
                "conditions": [
                    {"type": "time_window", "from": "09:30", "to": "14:30", "side": "long"},
                    {
                        "type": "indicator_value",
                        "operator": "rising",
                        "candles": 2,
                        "indicator": {
                            "type": "MACD",
                            "fastPeriod": 12,
                            "slowPeriod": 26,
                            "signalPeriod": 9,
                            "output": "histogram",
                            "source": "hlc3",
                        },
                    },
                    {
                        "type": "indicator_indicator",
                        "operator": "at_or_below",
                        "indicator1": {"type": "PRICE", "source": "low", "offset": 1},
                        "indicator2": {
                            "type": "BBANDS",
                            "period": 20,
                            "multiplier": 2.5,
                            "output": "lower",
                        },
                    },
                ],
            },
            exitConditions={
                "stopLoss": {"type": "atr", "atrPeriod": 14, "atrMultiplier": 2},
                "takeProfit": {"type": "points", "points": 25},
                "trailingStop": {"enabled": True, "type": "points", "points": 5},
                "squareOffTime": "15:10",
                "maxHoldingCandles": 30,
                "exitOnOppositeSignal": True,
            },
        ),
        "walkForwardConfig": {"windows": 5, "parameters": [{"path": "x", "from": 1, "to": 2}]},
        "monteCarloConfig": {"runs": 1000},
    },
]
GOOD_BACKTEST = {"startDate": "2024-02-01", "endDate": "2024-02-29"}
WHOLE_BACKTEST = {
    "startDate": "2024-02-01T00:00:00+05:30",
    "endDate": "2024-02-20T18:30:00Z",
    "kind": "backtest",
    "name": "February",
    "symbols": ["NSE:NIFTY", "NSE:TCS"],
    "timeframe": "15m",
    "initialCapital": 250_000.5,
    "slippage": 0.05,
    "charges": "none",
}


def stored() -> Rows:
    """Return every algorithm with its revision, and the numbers of backtests and jobs."""
    kept = list(Algorithm.objects.values_list("pk", "rev"))
    return [*kept, (Backtest.objects.count(), ProcrastinateJob.objects.count())]


# Algorithms


@dataclass
class AlgorithmJudge(Sender):
    """Sends mutants by POST and PUT in turn; PUT replaces a complete algorithm."""

    held: dict[str, Any] = field(default_factory=dict)
    turn: int = 0

    def begin(self) -> None:
        """Create an algorithm from each good body; the last one is updated from now on."""
        for good in GOOD_ALGORITHMS:
            self.held = self.client.post(ALGORITHMS, good).json()
            assert self.held["status"] == "stopped", self.held
        self.settle()

    def __call__(self, mutant: Mutant) -> None:
        self.turn += 1
        sent = read(mutant.raw)
        if self.turn % 2:
            response = self.send("POST", ALGORITHMS, mutant)
            created = self.judge(mutant, sent, response, {})
            Algorithm.objects.filter(pk=created.get("id")).delete()
        else:
            response = self.send("PUT", f"{ALGORITHMS}/{self.held['id']}", mutant)
            self.held = self.judge(mutant, sent, response, self.held)
            if response.status_code == 200:
                self.settle()

    def judge(
        self, mutant: Mutant, sent: Sent, response: Any, held: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the present algorithm, which replaces `held`."""
        if response.status_code not in (200, 201):
            assert_refused(response, sent, mutant.raw)
            assert self.stored() == self.rows
            return held
        assert response.status_code == (200 if held else 201)
        path = f"{ALGORITHMS}/{response.json()['id']}"
        algorithm: dict[str, Any] = self.client.get(path).json()
        assert sent.document is not None
        assert_reads_back(algorithm, sent.document, held)
        assert same(algorithm, {name: response.json()[name] for name in algorithm})
        self.assert_review_agrees(path, algorithm)
        return algorithm

    def assert_review_agrees(self, path: str, algorithm: dict[str, Any]) -> None:
        review = self.client.post(f"{path}/validate").json()
        missing = review["missingFields"]
        assert algorithm["status"] == ("draft" if missing else "stopped")
        assert review["valid"] is (not missing)
        assert missing == [step for step in STEPS if step in missing]
        assert {error["field"].partition(".")[0] for error in review["errors"]} == set(missing)
        assert {step for step in STEPS if algorithm[step] == {}} <= set(missing)
        if not missing:
            self.counts.complete += 1
            if self.counts.complete % EVERY == 1:
                self.counts.simulated += simulated({step: algorithm[step] for step in STEPS})


def assert_reads_back(stored: dict[str, Any], sent: dict[str, Json], held: dict[str, Any]) -> None:
    """Assert that steps are as sent, or unchanged if absent; text is trimmed and in NFC."""
    for name in (*STEPS, "walkForwardConfig", "monteCarloConfig", "isTemplate", "isPublic"):
        empty: Any = {} if name in STEPS else (None if name.endswith("Config") else False)
        wanted = sent[name] if sent.get(name) is not None else held.get(name, empty)
        assert same(stored[name], wanted), (name, stored[name], wanted)
    for name in ("name", "description"):
        text = sent.get(name)
        if text is not None:
            assert stored[name] == unicodedata.normalize("NFC", text.strip()), name


@pytest.fixture
def algorithms(api: Api, alice: User) -> AlgorithmJudge:
    judge = AlgorithmJudge(api(alice), stored)
    judge.begin()
    return judge


@pytest.mark.parametrize(("first", "count"), [QUICK, *PROOF])
def test_a_wrong_algorithm_is_refused_by_its_place_or_reads_back(
    algorithms: AlgorithmJudge, first: int, count: int, mutation_seed: int
) -> None:
    batch = mutants(GOOD_ALGORITHMS, seed=mutation_seed, first=first, count=count)
    run(algorithms, batch, algorithms)


# Backtests


@dataclass
class BacktestJudge(Sender):
    """Submits each mutant, and removes queued backtests again."""

    def __call__(self, mutant: Mutant) -> None:
        sent = read(mutant.raw)
        response = self.send("POST", BACKTESTS, mutant)
        if response.status_code == 201:
            assert sent.document is not None
            self.assert_queued(response.json(), sent.document)
            return
        assert self.stored() == self.rows
        if response.status_code == 404:
            error = assert_error(response, 404, "ALGORITHM_NOT_FOUND")
            assert sent.document is not None
            assert is_echo(error["details"]["algorithmId"], sent.document["algorithmId"])
        elif response.status_code == 422:
            assert_insufficient(assert_error(response, 422, "INSUFFICIENT_DATA")["details"])
        else:
            assert_refused(response, sent, mutant.raw)

    def assert_queued(self, backtest: dict[str, Any], sent: dict[str, Json]) -> None:
        jobs, made = ProcrastinateJob.objects.all(), Backtest.objects.filter(pk=backtest["id"])
        try:
            assert jobs.count() == 1
            assert (backtest["status"], backtest["performance"]) == ("queued", None)
            assert same(self.client.get(f"{BACKTESTS}/{backtest['id']}").json(), backtest)
            for name in sent.keys() & backtest.keys():
                wanted = as_kept(name, sent[name])
                assert same(backtest[name], wanted), (name, backtest[name], wanted)
            self.counts.complete += 1
            if self.counts.complete % EVERY == 1:
                self.counts.simulated += simulated(made.get().configuration)
        finally:
            made.delete()
            jobs.delete()


def assert_insufficient(details: dict[str, Any]) -> None:
    """Check the reason of a refusal: too few bars, or bars on too few sessions of the range."""
    if "minimumPercentage" in details:
        wanted = details["sessionsSince"] * details["minimumPercentage"] / 100
        assert details["heldSessions"] < wanted
    else:
        assert details["barsInRange"] < details["needed"]
        assert {"symbol", "timeframe", "held"} <= details.keys()


def as_kept(name: str, value: Json) -> Json:
    """Return the stored form: a name trimmed and in NFC, capital in whole paise, other values as
    sent.
    """
    if name == "name":
        return unicodedata.normalize("NFC", value.strip())
    return round(value, 2) if name == "initialCapital" else value


@pytest.fixture
def backtests(api: Api, alice: User) -> BacktestJudge:
    for symbol in ("NSE:NIFTY", "NSE:TCS"):
        store_candles(symbol, "15m", wave_candles("2024-01-01", 45))
    return BacktestJudge(api(alice), stored)


@pytest.fixture
def good_backtests(backtests: BacktestJudge, alice: User) -> list[Json]:
    chosen = {"algorithmId": make.algorithm(alice, **make.steps()).pk}
    good = [{**chosen, **GOOD_BACKTEST}, {**chosen, **WHOLE_BACKTEST}]
    for body in good:
        backtests(Mutant(json.dumps(body).encode(), "nothing"))
    backtests.settle()
    assert backtests.counts.answers == {201: 2}
    return good


@pytest.mark.parametrize(("first", "count"), [QUICK, *PROOF])
def test_a_wrong_backtest_is_refused_by_its_place_or_queued(
    backtests: BacktestJudge, good_backtests: list[Json], first: int, count: int, mutation_seed: int
) -> None:
    batch = mutants(good_backtests, seed=mutation_seed, first=first, count=count)
    run(backtests, batch, backtests)
