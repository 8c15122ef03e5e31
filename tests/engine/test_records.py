"""State as bytes, and the arrays a simulation refuses."""

from datetime import date

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
    """Where these change, every run that is open at that moment ends as an error."""
    assert r.HEADER_4.hex() == "73746174650000047c0ab127b957d70b"
    assert r.HEADER.hex() == "7374617465000005673b847e5cbb3dd3"


def test_a_state_of_version_4_goes_on_with_the_day_of_its_entries() -> None:
    account, positions = np.zeros(1, r.ACCOUNT_4), np.zeros(2, r.POSITION_4)
    account["cash"], account["paid"], account["rejected"][0, 2] = 7.0, np.arange(7), 5
    positions["side"], positions["stop"] = [1, 0], [97.5, np.nan]
    positions["entry_time"] = [1_700_000_000, 0]  # 2023-11-15 in India, 2023-11-14 in UTC
    data = r.HEADER_4 + account.tobytes() + positions.tobytes()
    state = r.load(data)
    assert state.account["paid"].tolist() == [[0, 1, 2, 3, 4, 5, 6, 0]]
    assert (state.account["cash"][0], state.account["rejected"][0, 2]) == (7.0, 5)
    assert state.positions["stop"][0] == 97.5
    assert state.positions["entry_day"][0] == (date(2023, 11, 15) - date(1970, 1, 1)).days
    assert r.save(r.load(r.save(state))) == r.save(state)
    for foreign in (data[:-1], data + b"\0", data[:40]):
        with pytest.raises(r.ForeignState):
            r.load(foreign)


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
