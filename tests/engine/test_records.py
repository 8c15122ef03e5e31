"""State as bytes, and the arrays a simulation refuses."""

import numpy as np
import pytest

from apps.engine.kernel import records as r
from tests.engine.cases import Case, random_case, whole


def saved() -> bytes:
    return whole(random_case(np.random.default_rng(0), symbols=2)).state


def test_rule_16_saved_state_comes_back_as_it_was() -> None:
    assert r.save(r.load(saved())) == saved()


def test_loaded_state_is_writable() -> None:
    state = r.load(saved())
    state.account[0]["cash"] = 7
    assert r.load(r.save(state)).account[0]["cash"] == 7


def test_a_state_of_another_layout_is_refused() -> None:
    data = saved()
    other_version = data[:7] + bytes([data[7] + 1]) + data[8:]
    other_layout = data[:8] + bytes([data[8] ^ 1]) + data[9:]
    for foreign in (b"", b"state", data[:-1], data + b"\0", other_version, other_layout):
        with pytest.raises(r.ForeignState):
            r.load(foreign)


def test_states_in_databases_are_read_after_an_upgrade() -> None:
    """Where this changes, every run that is open at that moment ends as an error."""
    assert r.HEADER.hex() == "73746174650000047c0ab127b957d70b"


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
        with pytest.raises(r.Misfit):
            check(wrong)


def test_results_must_be_writable_and_large_enough() -> None:
    case = random_case(np.random.default_rng(0), symbols=2)
    rows = case.market.time.size
    frozen = np.zeros(rows)
    frozen.flags.writeable = False
    trades = np.zeros(4, r.TRADE)
    for wrong in (
        r.Out(np.zeros(3, r.TRADE), np.zeros(rows)),
        r.Out(trades, np.zeros(rows - 1)),
        r.Out(trades, frozen),
        r.Out(trades, np.zeros(rows), fills=np.zeros(5, r.FILL)),
        r.Out(trades, np.zeros(rows), refusals=np.zeros(3, r.REFUSAL)),
    ):
        with pytest.raises(r.Misfit):
            check(case, wrong)


def check(case: Case, out: r.Out | None = None) -> None:
    rows = case.market.time.size
    out = out or r.Out(np.zeros(4, r.TRADE), np.zeros(rows))
    r.check(r.new_state(symbols=2, cash=1.0), case.market, case.signals, case.contracts, out)
