"""State as bytes, and the arrays a simulation refuses."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.kernel import records as r
from apps.engine.kernel import saved
from apps.engine.kernel.reasons import REJECTIONS
from tests.engine.random_cases import (
    Case,
    check_arrays,
    random_case,
    rules_of,
    small_out,
    whole,
)

INSTRUMENTS = np.arange(2)


def state_bytes() -> bytes:
    return whole(random_case(np.random.default_rng(0), symbols=2)).state


def test_rule_16_saved_state_is_restored_exactly() -> None:
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
    """If these change, every open run ends as an error."""
    assert saved.LAYOUT_6.header.hex() == "737461746500000603e26480df4e10ad"


def test_a_run_saved_by_release_1_0_continues_with_its_positions() -> None:
    state = saved.load(state_bytes(), INSTRUMENTS)
    account = np.zeros(1, saved.LAYOUT_6.account)
    kept = [name for name in account.dtype.names or () if name != "rejected"]
    for name in kept:
        account[name] = state.account[name]
    account["rejected"] = np.arange(9)
    positions, orders = (
        np.zeros(array.shape, layout)
        for array, layout in zip(
            (state.positions, state.orders), saved.LAYOUT_6.of_slots, strict=True
        )
    )
    for written, array in ((positions, state.positions), (orders, state.orders)):
        for name in written.dtype.names or ():
            written[name] = _as_in_6(array[name], name)
    records = (account, positions, orders)
    data = saved.LAYOUT_6.header + b"".join(array.tobytes() for array in records)
    loaded = saved.load(data, INSTRUMENTS)
    assert loaded.account["rejected"].tolist() == [[*range(9), *[0] * (len(REJECTIONS) - 9)]]
    for name in kept:
        assert np.array_equal(loaded.account[name], state.account[name])
    for name in positions.dtype.names or ():
        assert _as_in_6(loaded.positions[name], name).tobytes() == positions[name].tobytes()
    for name in orders.dtype.names or ():
        assert _as_in_6(loaded.orders[name], name).tobytes() == orders[name].tobytes()
    assert not loaded.orders["rank"].any()
    with pytest.raises(saved.ForeignState):
        saved.load(data[:-1], INSTRUMENTS)


def _as_in_6(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a field without the range that release 1.0.0 did not have."""
    return np.ascontiguousarray(values[..., :4] if name == "atr" else values)


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
        r.SimulationOutput(trades, np.zeros(rows), fills=np.zeros(17, r.FILL)),
        r.SimulationOutput(trades, np.zeros(rows), refusals=np.zeros(3, r.REFUSAL)),
    ):
        with pytest.raises(r.ArrayMismatch):
            check(case, wrong)


def check(case: Case, output: r.SimulationOutput | None = None) -> None:
    rows = case.market.time.size
    output = output or r.SimulationOutput(np.zeros(4, r.TRADE), np.zeros(rows))
    state = r.new_state(INSTRUMENTS, cash=1.0)
    check_arrays(state, case.market, np.ascontiguousarray(case.signals.T), rules_of(case), output)
