"""The command that loads splits and bonuses."""

from datetime import date
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from apps.market.candles.corporate_actions import ActionRow, DividendRow, payouts_of, store_actions
from apps.market.importers.action_files import read_actions
from apps.market.models import CorporateAction, Dividend
from tests.market.bars import NOW, at, flat_candles, store_candles, write_file

HEADER = "symbol,ex_date,kind,ratio,source\n"
LISTED = """symbol,series,isin,ex_date,rec_date,face_value,subject
FISCHER,EQ,X,12-Sep-2025,x,1,Face Value Split (Sub-Division) - From Rs 10/- Per Share To Re 1/- Per Share
NAZARA,EQ,X,26-Sep-2025,x,2,Face Value Split (Sub-Division) - From Rs 4/- Per Share To Rs 2/- Per Share
NAZARA,EQ,X,26-Sep-2025,x,2,Bonus 1:1
AJANTPHARM,EQ,X,22-Jun-2022,x,2,Bonus- 1:2
VERTOZ,EQ,X,25-Jun-2025,x,10,Consolidation Of Equity Shares From Re 1 Per Share To Rs 10 Per Share
PATANJALI,EQ,X,03-Sep-2025,x,2,Dividend - Rs 2 Per Share
TVSHLTD,EQ,X,24-Mar-2023,x,5,Bonus Ncrps 1:116
ZUARI,EQ,X,13-Sep-2019,x,10, Rights:14 Debentures For Every 15 Equity Shares
"""  # noqa: E501
pytestmark = pytest.mark.django_db


def load(*arguments: object, **options: Any) -> str:
    out = StringIO()
    call_command("load_corporate_actions", *map(str, arguments), stdout=out, **options)
    return out.getvalue()


def file_of(folder: Path, text: str) -> Path:
    return write_file(folder, text, "actions.csv")


def held() -> list[str]:
    return [str(action) for action in CorporateAction.objects.all()]


def test_a_file_is_stored_once(tmp_path: Path) -> None:
    rows = "NSE:SBIN,2014-11-20,split,10:1,NSE\nM&M,2017-12-21,bonus,1:1,NSE\n"
    path = file_of(tmp_path, HEADER + rows)
    assert load(path).splitlines() == [
        "2 splits and bonuses",
        "2 added, 0 changed, 0 held already",
    ]
    assert held() == ["NSE:MM bonus 1:1 on 2017-12-21", "NSE:SBIN split 10:1 on 2014-11-20"]
    assert "0 added, 0 changed, 2 held already" in load(path)
    path = file_of(tmp_path, HEADER + rows.replace("10:1", "5:1"))
    assert "0 added, 1 changed, 1 held already" in load(path)
    assert "NSE:SBIN split 5:1 on 2014-11-20" in held()


def test_the_subjects_of_the_exchanges_list_are_read(tmp_path: Path) -> None:
    report = load(file_of(tmp_path, LISTED))
    assert report.splitlines()[:4] == [
        "5 splits and bonuses",
        "  + 1 dividends",
        "  + 1 that change no price of a share (Bonus Ncrps)",
        "  + 1 that change no price of a share (Rights)",
    ]
    assert held() == [
        "NSE:AJANTPHARM bonus 1:2 on 2022-06-22",
        "NSE:FISCHER split 10:1 on 2025-09-12",
        "NSE:NAZARA bonus 1:1 on 2025-09-26",
        "NSE:NAZARA split 2:1 on 2025-09-26",
        "NSE:VERTOZ split 1:10 on 2025-06-25",
    ]


def test_a_dry_run_stores_nothing(tmp_path: Path) -> None:
    assert "dry run: nothing stored" in load(file_of(tmp_path, LISTED), "--dry-run")
    assert held() == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("NSE:SBIN,2014-11-20,split,1:1,x", "line 2: a split of 1 shares for 1 is none"),
        ("NSE:SBIN,2014-11-20,split,10001:1,x", "line 2: a split of 10001 shares for 1 is none"),
        ("NSE:SBIN,2014-11-20,split,10,x", "line 2: ratio '10' is none such as 2:1"),
        ("NSE:SBIN,2014-11-20,split,1:0,x", "line 2: ratio '1:0' is none such as 2:1"),
        ("NSE:SBIN,2014-11-20,gift,2:1,x", "line 2: kind 'gift' is none of split, bonus, rights"),
        ("NSE:SBIN,2014-11-31,split,2:1,x", "line 2: ex_date '2014-11-31' is no date"),
        ("NSE:sb!n,2014-11-20,split,2:1,x", "line 2: 'NSE:sb!n' is no symbol"),
        ("", "is empty of rows"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_loaded(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        load(file_of(tmp_path, HEADER + row + "\n"))
    assert message in str(caught.value)
    assert held() == []


def test_other_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="its columns are a, b; wanted are symbol, ex_date"):
        load(file_of(tmp_path, "a,b\n1,2\n"))


@pytest.mark.parametrize("arguments", [(), ("x.csv", "--suggest", "NSE:SBIN")])
def test_files_or_suggestions(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match="give FILEs to load, or --suggest SYMBOL"):
        load(*arguments)


def test_suggestions_are_a_file_that_can_be_loaded(tmp_path: Path) -> None:
    times = [at(f"2024-01-0{day} 00:00") for day in (1, 2, 3)]
    store_candles("NSE:SBIN", "1d", flat_candles(times, [1000.0, 1010.0, 102.0]))
    output = load("--suggest", "NSE:SBIN", "NSE:TCS")
    assert output.splitlines() == [
        "symbol,ex_date,kind,ratio,source",
        'NSE:SBIN,2024-01-03,split,10:1,"suggested: close 1010, next open 102; look it up"',
    ]
    assert held() == []
    load(file_of(tmp_path, output))
    assert held() == ["NSE:SBIN split 10:1 on 2024-01-03"]
    assert load("--suggest", "NSE:SBIN").splitlines() == ["symbol,ex_date,kind,ratio,source"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "gift"},
        {"shares_after": 1},
        {"shares_before": 0},
        {"shares_after": 10_001},
        {"kind": "bonus", "shares_before": 3},
        {},
    ],
)
def test_the_database_refuses_an_invalid_action(wrong: dict[str, Any]) -> None:
    good = {
        "symbol": "NSE:SBIN",
        "ex_date": date(2014, 11, 20),
        "kind": "split",
        "shares_before": 1,
        "shares_after": 2,
        "source": "x",
        "loaded_at": NOW,
    }
    CorporateAction.objects.create(**good)
    other = {} if not wrong else {"symbol": "NSE:TCS"}
    with pytest.raises(IntegrityError), transaction.atomic():
        CorporateAction.objects.create(**good | other | wrong)


def test_the_exchanges_own_list(market_data: Path) -> None:
    actions = read_actions(market_data / "nse_corp_actions_2025-09.csv")
    assert (len(actions.rows), len(actions.dividends)) == (14, 5)
    assert sum(actions.skipped.values()) == 2


def dividends() -> list[str]:
    return [str(dividend) for dividend in Dividend.objects.all()]


def test_dividends_are_stored_with_their_amount_and_ex_date(tmp_path: Path) -> None:
    rows = "NSE:SBIN,2025-05-16,dividend,,15.90,NSE\nSBIN,2014-11-20,split,10:1,,NSE\n"
    header = "symbol,ex_date,kind,ratio,amount,source\n"
    path = file_of(tmp_path, header + rows)
    assert load(path).splitlines() == [
        "1 splits and bonuses",
        "  + 1 dividends",
        "2 added, 0 changed, 0 held already",
    ]
    assert dividends() == ["NSE:SBIN 15.9000 on 2025-05-16"]
    assert "0 added, 0 changed, 2 held already" in load(path)
    path = file_of(tmp_path, header + rows.replace("15.90", "16"))
    assert "0 added, 1 changed, 1 held already" in load(path)
    for wrong in ("", "0", "-1", "1e3", "1.00001"):
        with pytest.raises(CommandError, match=r"amount .* is none such as 2\.50"):
            load(file_of(tmp_path, header + f"SBIN,2025-05-16,dividend,,{wrong},NSE\n"))


def test_dividends_are_read_off_the_subjects_of_the_exchanges_list(tmp_path: Path) -> None:
    subjects = {
        "Dividend - Rs 2 Per Share": "2.0000",
        " Interim Dividend - Rs 12.50 Per Share": "12.5000",
        "Interim Dividend - Re 0.50 Per Share/Special Dividend Rs.3 Per Share": "3.5000",
        "Face Value Split From Rs 10/- Per Share To Re 1/- Per Share/ Dividend Rs 4": "4.0000",
    }
    lines = [f"A{n},EQ,X,03-Sep-2025,x,2,{subject}" for n, subject in enumerate(subjects)] + [
        "OTHER,EQ,X,03-Sep-2025,x,2,Dividend - 50 %"
    ]
    head = "symbol,series,isin,ex_date,rec_date,face_value,subject\n"
    report = load(file_of(tmp_path, head + "\n".join(lines) + "\n"))
    assert "  + 4 dividends" in report
    assert [line.split()[1] for line in dividends()] == list(subjects.values())
    assert held() == ["NSE:A3 split 10:1 on 2025-09-03"]


def test_dividends_count_by_the_shares_after_later_splits() -> None:
    store_actions(
        rows=[ActionRow("NSE:SBIN", date(2025, 6, 2), "split", 1, 2, "a test")],
        dividends=[
            DividendRow("NSE:SBIN", date(2025, 5, 16), Decimal(16), "a test"),
            DividendRow("NSE:SBIN", date(2025, 7, 1), Decimal(5), "a test"),
        ],
        now=NOW,
    )
    first, last, actions = date(2025, 1, 1), date(2025, 7, 1), list(CorporateAction.objects.all())
    payouts = payouts_of("NSE:SBIN", first=first, last=last, actions=actions)
    assert [rupees for _, rupees in payouts] == [8.0, 5.0]


HEADER_OF_LIST = "SYMBOL,COMPANY NAME,SERIES,PURPOSE,FACE VALUE,EX-DATE\n"
SPLIT_OF_10 = "Face Value Split (Sub-Division) - From Rs 10/- Per Share To Re 1/- Per Share"


@pytest.mark.parametrize(
    ("subject", "actions"),
    [
        (f"Bonus 1:1/{SPLIT_OF_10}", ["bonus 1:1", "split 10:1"]),
        (f"{SPLIT_OF_10} & Bonus 3:2", ["bonus 3:2", "split 10:1"]),
        ("Bonus 1:1/Interim Dividend Rs 2/- Per Share", ["bonus 1:1"]),
        ("Annual General Meeting/Bonus 1:1", ["bonus 1:1"]),
        ("AGM/DIV-RS 3 PER SH + BONUS 2:5", ["bonus 2:5"]),
        ("FACE VALUE SPLIT FROM RS.10/- TO RS.2/-", ["split 5:1"]),
        ("FV SPLIT RS.10 TO RE.1", ["split 10:1"]),
        ("FV SPL FRM RS 5 TO RS 2", ["split 5:2"]),
        ("Sub-Division Of Equity Shares From Rs. 10 To Rs. 5", ["split 2:1"]),
        ("Consolidation Of Equity Shares From Re 1 Per Share To Rs 10 Per Share", ["split 1:10"]),
        ("Rights 1:15 @ Premium Rs 1247/-", ["rights 1:15"]),
        ("RIGHTS 2:9 @ RS 120/-", ["rights 2:9"]),
        ("Demerger", ["demerger of unknown size"]),
        ("Scheme Of Arrangement - De-merger/Dividend Rs 2", ["demerger of unknown size"]),
        ("Bonus Ncrps 1:116", []),
        ("Rights:14 Compulsory Convertible Debentures For Every 15 Equity Shares", []),
        ("Annual General Meeting", []),
        ("Copyrights Of The Shareholders", []),
    ],
)
def test_every_event_of_a_subject_is_read(tmp_path: Path, subject: str, actions: list[str]) -> None:
    report = load(file_of(tmp_path, f'{HEADER_OF_LIST}SBIN,X,EQ,"{subject}",10,08-Sep-2016\n'))
    assert "warning" not in report
    assert held() == [f"NSE:SBIN {action} on 2016-09-08" for action in actions]


@pytest.mark.parametrize(
    "subject",
    ["Bonus", "Bonus In The Ratio Of One To One", "Stock Split", "Rights Issue", "Bonus 0:1"],
)
def test_an_event_that_cannot_be_read_is_a_warning(
    tmp_path: Path, subject: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(tmp_path, f'{HEADER_OF_LIST}SBIN,X,EQ,"{subject}",10,08-Sep-2016\n')
    report = load(path)
    warning = f"line 2: {subject!r} names an event and cannot be read"
    assert warning in capsys.readouterr().err
    assert "that change no price" not in report
    assert held() == []


def test_a_demerger_without_a_factor_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = "symbol,ex_date,kind,ratio,factor,source\n"
    load(file_of(tmp_path, f"{header}NSE:RELIANCE,2023-07-20,demerger,1:1,,NSE\n"))
    assert "demerger of 2023-07-20 has no price factor" in capsys.readouterr().err
    load(file_of(tmp_path, f"{header}NSE:RELIANCE,2023-07-20,demerger,1:1,0.9081,NSE\n"))
    assert held() == ["NSE:RELIANCE demerger 0.9081000000 on 2023-07-20"]
    with pytest.raises(CommandError, match=r"factor '1\.2' is none such as"):
        load(file_of(tmp_path, f"{header}NSE:RELIANCE,2023-07-20,demerger,1:1,1.2,NSE\n"))
