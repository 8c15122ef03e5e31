"""The kind of prices, as traded or adjusted, proven by splits and bonuses."""

from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.market.candles import corporate_actions, reading
from apps.market.candles.corporate_actions import ActionRow
from apps.market.candles.price_kinds import PriceKind
from apps.market.models import CandleChunk
from tests.market.bars import NOW, at, write_file

pytestmark = pytest.mark.django_db
SBIN = "NSE:SBIN"


def split(day: str, after: int = 10, before: int = 1) -> tuple[str, ...]:
    row = ActionRow(SBIN, date.fromisoformat(day), "split", before, after, "a test")
    return corporate_actions.store_actions(rows=[row], now=NOW).warnings


def days(*closes: float, first: int = 1) -> str:
    rows = (
        f"2024-01-{day:02},{close},{close},{close},{close},7"
        for day, close in enumerate(closes, start=first)
    )
    return "\n".join(["Date,Open,High,Low,Close,Volume", *rows])


def load(folder: Path, text: str, name: str = "SBIN_1d.csv", **options: Any) -> str:
    out = StringIO()
    call_command("load_candles", str(write_file(folder, text, name)), stdout=out, **options)
    return out.getvalue()


def kinds() -> list[tuple[bool, bool]]:
    """Return whether the stored chunks are adjusted, and whether that is known."""
    return list(CandleChunk.objects.values_list("adjusted", "prices_known").distinct())


def closes() -> list[float]:
    bars = reading.read_adjusted(SBIN, "1d", start=0, end=at("2030-01-01 00:00"))
    return [float(close) for close in bars.candles.close]


def test_a_file_that_falls_by_the_ratio_is_as_traded(tmp_path: Path) -> None:
    split("2024-01-03")
    load(tmp_path, days(1000, 1010, 102, 103))
    assert kinds() == [(False, True)]
    assert closes() == [100, 101, 102, 103]


def test_a_file_without_a_fall_is_adjusted_and_stays_unchanged(tmp_path: Path) -> None:
    split("2024-01-03")
    report = load(tmp_path, days(100, 101, 102, 103))
    assert "prices adjusted by their source, to which no corporate action is applied: 1" in report
    assert kinds() == [(True, True)]
    assert closes() == [100, 101, 102, 103]


def test_a_file_without_an_action_inside_is_of_unknown_kind(tmp_path: Path) -> None:
    split("2024-03-01")
    report = load(tmp_path, days(100, 101))
    assert "of which no known split or bonus tells whether they are adjusted" in report
    assert kinds() == [(False, False)]


@pytest.mark.parametrize("given", ["raw", "adjusted"])
def test_a_file_without_evidence_of_its_kind_needs_an_option(tmp_path: Path, given: str) -> None:
    split("2024-01-03", 11, 10)
    text = days(1000, 1000, 955, 955)  # half a fall of 11 for 10
    with pytest.raises(CommandError, match="do not tell whether prices are adjusted"):
        load(tmp_path, text)
    load(tmp_path, text, prices=PriceKind(given))
    assert kinds() == [(given == "adjusted", True)]


def test_a_file_that_contradicts_the_stated_kind_is_refused(tmp_path: Path) -> None:
    split("2024-01-03")
    with pytest.raises(CommandError, match="so they are adjusted, not raw"):
        load(tmp_path, days(100, 101, 102, 103), prices=PriceKind.RAW)
    with pytest.raises(CommandError, match="so they are raw, not adjusted"):
        load(tmp_path, days(1000, 1010, 102, 103), prices=PriceKind.ADJUSTED)


def test_a_file_of_two_kinds_is_refused(tmp_path: Path) -> None:
    split("2024-01-03")
    split("2024-01-05", 2)
    with pytest.raises(CommandError, match="as traded on 2024-01-03 and adjusted on 2024-01-05"):
        load(tmp_path, days(1000, 1010, 102, 103, 104))


def test_a_history_of_yfinance_is_not_adjusted_twice(tmp_path: Path) -> None:
    split("2024-01-03", 2)
    text = days(100, 101, 102, 103).replace("Volume", "Volume,Dividends,Stock Splits")
    load(tmp_path, text.replace(",7", ",7,0.0,0.0"))
    assert kinds() == [(True, True)]
    assert closes() == [100, 101, 102, 103]


def test_the_same_report_is_given_without_storing(tmp_path: Path) -> None:
    split("2024-01-03")
    text = days(100, 101, 102, 103)
    dry = load(tmp_path, text, dry_run=True)
    assert dry.splitlines()[:-1] == load(tmp_path, text).splitlines()


@pytest.mark.parametrize(
    ("prices", "kind"),
    [((1000, 1010, 102, 103), (False, True)), ((100, 101, 102, 103), (True, True))],
)
def test_a_later_action_checks_stored_bars(
    tmp_path: Path, prices: tuple[float, ...], kind: tuple[bool, bool]
) -> None:
    load(tmp_path, days(*prices))
    assert split("2024-01-03") == ()
    assert kinds() == [kind]
    assert closes() == [100, 101, 102, 103]


def test_an_action_that_contradicts_stored_bars_is_reported(tmp_path: Path) -> None:
    split("2024-01-03")
    load(tmp_path, days(1000, 1010, 102, 103, 104, 105))
    [warning] = split("2024-01-05", 2)
    assert warning == f"{SBIN} 1d: nothing tells whether its prices are adjusted"
    assert kinds() == [(False, True)]


def test_an_action_in_a_gap_proves_nothing_and_is_reported(tmp_path: Path) -> None:
    load(tmp_path, days(100, 101, first=1) + "\n" + days(102, 103, first=20).partition("\n")[2])
    [warning] = split("2024-01-10", 2)
    assert warning == f"{SBIN} 1d: nothing tells whether its prices are adjusted"
    assert kinds() == [(False, False)]
