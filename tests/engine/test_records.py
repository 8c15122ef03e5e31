"""State as bytes, what earlier versions saved, and the arrays a simulation refuses."""

import base64
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps.engine.kernel import records as r
from apps.engine.kernel import saved
from tests.engine.cases import (
    Case,
    Running,
    check_arrays,
    random_case,
    rules_of,
    small_out,
    whole,
)

INSTRUMENTS = np.arange(2)
# States that earlier versions saved while a random case was under way, what they held, and what
# the code of their time then made of the rest.
EARLIER: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "saved_states.json").read_text()
)


def state_bytes() -> bytes:
    return whole(random_case(np.random.default_rng(0), symbols=2)).state


def test_rule_16_saved_state_comes_back_as_it_was() -> None:
    assert saved.save(saved.load(state_bytes(), INSTRUMENTS)) == state_bytes()


def test_loaded_state_is_writable() -> None:
    state = saved.load(state_bytes(), INSTRUMENTS)
    state.account[0]["cash"] = 7
    assert saved.load(saved.save(state), INSTRUMENTS).account[0]["cash"] == 7


def test_a_state_of_another_layout_is_refused() -> None:
    data = state_bytes()
    other_version = data[:7] + bytes([data[7] + 1]) + data[8:]
    other_layout = data[:8] + bytes([data[8] ^ 1]) + data[9:]
    for foreign in (b"", b"state", data[:-1], data + b"\0", other_version, other_layout):
        with pytest.raises(saved.ForeignState):
            saved.load(foreign, INSTRUMENTS)


def test_a_state_of_other_symbols_is_refused() -> None:
    state = r.new_state(r.instrument_ids(["NSE:SBIN", "NSE:TCS"]), cash=1.0)
    for symbols in (["NSE:TCS", "NSE:SBIN"], ["NSE:SBIN"]):
        with pytest.raises(saved.ForeignState):
            saved.load(saved.save(state), r.instrument_ids(symbols))


def test_a_symbol_has_the_same_number_in_every_release() -> None:
    assert r.instrument_id("NSE:SBIN") == -1109984267528961206


def test_states_in_databases_are_read_after_an_upgrade() -> None:
    """Where these change, every run that is open at that moment ends as an error."""
    assert saved.LAYOUT_4.header.hex() == "73746174650000047c0ab127b957d70b"
    assert saved.LAYOUT_5.header.hex() == "7374617465000005673b847e5cbb3dd3"
    assert saved.LAYOUT.header.hex() == "737461746500000603e26480df4e10ad"


@pytest.mark.parametrize(
    "earlier", EARLIER, ids=lambda state: f"{state['version']}-{', '.join(state['holds'])}"
)
def test_a_run_that_an_earlier_version_saved_goes_on_as_it_would_have(
    earlier: dict[str, Any],
) -> None:
    """To the last bit: trades, equity, fills, refusals, and what the account holds in the end."""
    case = random_case(np.random.default_rng(earlier["seed"]))
    running = resumed(case, earlier["row"], base64.b64decode(earlier["state"]))
    outcome, account = running.outcome, running.loaded.account[0]
    remainder = b"".join([outcome.trades, outcome.curve, outcome.fills, outcome.refusals])
    assert sha256(remainder).hexdigest() == earlier["rest"]
    for name in ("cash", "trades", "paid", "rejected"):
        assert account[name].tolist() == earlier[name]


def test_the_saved_states_hold_all_that_a_run_can_be_in() -> None:
    assert {held for earlier in EARLIER for held in earlier["holds"]} == {
        "in a position", "pyramiding", "trailing", "entries blocked", "halted", "close requested",
        "waiting order at market", "waiting limit order", "waiting stop order",
    }  # fmt: skip
    assert {earlier["version"] for earlier in EARLIER} == {4, 5}


def test_an_earlier_state_of_other_symbols_or_cut_short_is_refused() -> None:
    for earlier in EARLIER:
        data = base64.b64decode(earlier["state"])
        symbols = random_case(np.random.default_rng(earlier["seed"])).signals.shape[1]
        for foreign in (data[:-1], data + b"\0", data[:40]):
            with pytest.raises(saved.ForeignState):
                saved.load(foreign, np.arange(symbols))
        with pytest.raises(saved.ForeignState):
            saved.load(data, np.arange(symbols + 1))


def resumed(case: Case, row: int, state: bytes) -> Running:
    """The case run from a row to the end of data, from saved bytes."""
    rows, symbols = case.signals.shape
    running = Running(case, small_out(symbols, rows))
    running.state = state
    later = {asked: outside for asked, outside in case.outside.items() if asked >= row}
    for stop in sorted({*later, rows}):
        while row < stop and not running.ruined:
            row = running.run(case.market, case.signals, row, stop)
        if stop in later and not running.ruined:
            running.ask(later[stop])
    running.finish()
    return running


def test_a_state_of_version_5_knows_the_terms_of_what_it_holds_as_far_as_they_were_saved() -> None:
    earlier = next(
        state for state in EARLIER if state["version"] == 5 and "pyramiding" in state["holds"]
    )
    case = random_case(np.random.default_rng(earlier["seed"]))
    data = base64.b64decode(earlier["state"])
    state = saved.load(data, np.arange(case.signals.shape[1]))
    held = state.positions["side"] != 0
    assert held.any()
    terms = state.positions["contract"][held]
    assert terms["multiplier"].tolist() == case.contracts["multiplier"][held].tolist()
    assert terms["margin"] == pytest.approx(case.contracts["margin"][held])
    assert not terms["lot"].any()
    assert not terms["tick"].any()


def test_arrays_that_do_not_fit_are_refused_before_they_are_read() -> None:
    case = random_case(np.random.default_rng(0), symbols=2)
    check(case)
    market = case.market
    signal_without_bar = np.where(market.cell < 0, 1, 0).astype(np.uint8)
    assert signal_without_bar.any()
    for wrong in (
        case._replace(market=market._replace(time=market.time[1:])),
        case._replace(market=market._replace(cell=market.cell[:, :1])),
        case._replace(market=market._replace(cell=market.cell + 1)),
        case._replace(market=market._replace(cell=market.cell[::-1])),
        case._replace(market=market._replace(atr=market.atr[1:])),
        case._replace(market=market._replace(flags=np.zeros(1, np.uint8))),
        case._replace(signals=case.signals[1:]),
        case._replace(signals=signal_without_bar),
        case._replace(contracts=case.contracts[:1]),
    ):
        with pytest.raises(r.ArrayMismatch):
            check(wrong)


def test_an_instrument_without_a_contract_is_refused() -> None:
    case = random_case(np.random.default_rng(0), symbols=2)
    state, rules = r.new_state(np.array([0, 7]), cash=1.0), rules_of(case)
    with pytest.raises(r.ArrayMismatch):
        check_arrays(
            state,
            case.market,
            np.ascontiguousarray(case.signals.T),
            rules,
            small_out(2, len(case.signals)),
        )


def test_results_must_be_writable_and_large_enough() -> None:
    case = random_case(np.random.default_rng(0), symbols=2)
    rows = case.market.time.size
    frozen = np.zeros(rows)
    frozen.flags.writeable = False
    trades = np.zeros(4, r.TRADE)
    for wrong in (
        r.SimulationOutput(np.zeros(3, r.TRADE), np.zeros(rows)),
        r.SimulationOutput(trades, np.zeros(rows - 1)),
        r.SimulationOutput(trades, frozen),
        r.SimulationOutput(trades, np.zeros(rows), fills=np.zeros(5, r.FILL)),
        r.SimulationOutput(trades, np.zeros(rows), refusals=np.zeros(3, r.REFUSAL)),
    ):
        with pytest.raises(r.ArrayMismatch):
            check(case, wrong)


def check(case: Case, output: r.SimulationOutput | None = None) -> None:
    rows = case.market.time.size
    output = output or r.SimulationOutput(np.zeros(4, r.TRADE), np.zeros(rows))
    state = r.new_state(INSTRUMENTS, cash=1.0)
    check_arrays(state, case.market, np.ascontiguousarray(case.signals.T), rules_of(case), output)
