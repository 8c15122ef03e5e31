"""The kernel's numbers and the names on the wire are one list, and reading it needs no compiler."""

import subprocess
import sys

import numpy as np

from apps.engine.kernel import codes as c
from apps.engine.kernel.reasons import CHARGE_KINDS, EXIT_REASONS, REDUCTIONS, REJECTIONS
from apps.engine.kernel.records import RATE
from tests.engine.compiled_charges import charges_on


def test_every_exit_reason_has_the_kernels_number() -> None:
    named = {
        c.OPEN: "",
        c.BY_STOP: "stop_loss",
        c.BY_TARGET: "take_profit",
        c.BY_TRAIL: "trailing_stop",
        c.BY_OPPOSITE: "opposite_signal",
        c.BY_SQUARE_OFF: "square_off",
        c.BY_HOLDING: "max_holding",
        c.BY_DAILY_LOSS: "daily_loss_limit",
        c.BY_END_OF_DATA: "end_of_data",
        c.BY_SIGNAL: "signal",
        c.BY_STOPPED: "stopped",
        c.BY_EXPIRY: "expiry",
        c.BY_EXPIRY_CLOSE: "expiry_close",
        c.BY_DAILY_PROFIT: "daily_profit_limit",
        c.BY_STEP: "step",
    }
    assert named == dict(enumerate(EXIT_REASONS))


def test_every_rejection_has_the_kernels_number() -> None:
    named = {
        c.POSITION_LIMIT: "position_limit",
        c.INSUFFICIENT_CASH: "insufficient_cash",
        c.BELOW_ONE_LOT: "below_one_lot",
        c.DAILY_LOSS_LIMIT: "daily_loss_limit",
        c.OUTSIDE_SESSION: "outside_session",
        c.BOTH_SIDES: "both_sides",
        c.LIMIT_NOT_REACHED: "limit_not_reached",
        c.KILL_SWITCH: "kill_switch",
        c.STALE_DATA: "stale_data",
        c.AFTER_SESSION: "after_session",
        c.CIRCUIT: "circuit",
        c.DAILY_PROFIT_LIMIT: "daily_profit_limit",
        c.ENTRY_LIMIT: "entry_limit",
        c.COOLDOWN: "cooldown",
        c.LEVEL_BEYOND_ENTRY: "level_beyond_entry",
    }
    assert named == dict(enumerate(REJECTIONS))


def test_reasons_of_reduced_entries_have_the_kernels_numbers() -> None:
    named = {c.BY_POSITION_SIZE: "max_position_size", c.BY_CASH: "cash", c.BY_VOLUME: "volume"}
    assert named == dict(enumerate(REDUCTIONS))


def test_every_kind_of_charge_has_the_kernels_place() -> None:
    """The fill is a lakh, and each rate shows its kind by its size."""
    names = ("brokerage", "tax_sell", "exchange", "ipft", "regulator", "stamp_buy")
    rate = np.zeros(1, RATE)
    rate["brokerage_cap"] = np.inf
    for index, name in enumerate(names, 1):
        rate[name] = index * 1e-5
    rate["tax_buy"], rate["gst"], rate["depository"] = rate["tax_sell"], 1.0, 7.0
    paise = charges_on(1e5, True, True, rate, day=0)
    assert dict(zip(CHARGE_KINDS, paise, strict=True)) == {
        "brokerage": 100,
        "transactionTax": 200,
        "exchangeFee": 300,
        "ipft": 400,
        "sebiFee": 500,
        "stampDuty": 600,
        "gst": 100 + 300 + 500 + 700,
        "depositoryCharge": 700,
    }


def test_results_and_strategies_are_read_without_the_compiler() -> None:
    simulation = "apps.engine.simulation.receipt, apps.engine.results.wire_records"
    doors = "apps.engine.studies, apps.engine.evidence"
    modules = f"{simulation}, apps.engine.language.strategy, {doors}"
    code = f"import {modules}, sys; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
