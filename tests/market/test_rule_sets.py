"""Editions of the rulebook: refused ones, and the rules in force after a load."""

from datetime import date
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.market import services
from apps.market.models import RuleSetVersion
from apps.market.rulebook import rule_sets
from apps.market.rulebook.charges import charge_basis_of, charges_of
from apps.market.rulebook.files.rule_set import (
    InvalidRulebook,
    bundled_files,
    bundled_rule_set,
    read_rule_set,
)
from tests import make

HOLIDAY = "NSE,,2027-01-26,holiday,Republic Day,,,a circular,\n"


def with_rows(name: str, *rows: str) -> dict[str, str]:
    files = bundled_files()
    return {**files, name: files[name] + "".join(f"{row}\n" for row in rows)}


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("charges.csv", "NSE,equities,,,buy,gst,2027-01-01,18,a circular,", "segments: Input"),
        ("charges.csv", "NSE,equity,,,buy,gst,2027-13-01,18,a circular,", "first_date: Input"),
        ("charges.csv", "NSE,equity,,,buy,gst,2027-01-01,180,a circular,", "percent: Input"),
        ("charges.csv", "NSE,equity,,,buy,gst,2027-01-01,18,,", "names no source"),
        ("charges.csv", "NSE,equity,,,buy,gst,2017-07-01,18,again,", "repeats line"),
        (
            "sessions.csv",
            "NSE,derivatives,continuous,2026-12-08,,09:15,15:45,,a circular,",
            "overlaps line",
        ),
        (
            "sessions.csv",
            "MCX,agri,pre_open,2020-01-01,2020-01-31,08:50,09:00,,a,\n"
            "MCX,agri,pre_open,2020-02-02,,08:50,09:00,,a,",
            "leaves a gap after line",
        ),
        ("sessions.csv", "MCX,agri,pre_open,2020-01-01,,09:00,08:50,,a circular,", "opens after"),
        ("days.csv", "NSE,,2026-01-26,regular,Open after all,,,a circular,", "contradicts"),
        ("days.csv", "NSE,,2027-01-26,holiday,Republic Day,09:15,15:30,a circular,", "has hours"),
        ("days.csv", "BSE,,2027-01-26,morning_closed,Republic Day,,,a circular,", "has no halves"),
        ("commodities.csv", "MCX,COTTON,agri,,,a circular,", "repeats line"),
        ("brokers.csv", "discount,options,,2009-01-01,10,0", "has more or fewer cells"),
        ("brokers.csv", "discount,options,,2009-01-01,10,0,,a sheet,", "repeats line"),
        ("etfs.csv", "NSE BSE,GOLDBEES,gold,a list,", "repeats line"),
        ("etfs.csv", "NSE,OILBEES,oil,a list,", "kind: Input"),
        ("depository.csv", "zerodha,2024-06-01,14,a list,", "repeats line"),
        ("depository.csv", "zerodha,2027-06-01,-1,a list,", "amount: Input"),
    ],
)
def test_faults_are_reported_with_file_and_line(name: str, row: str, message: str) -> None:
    files = with_rows(name, row)
    with pytest.raises(InvalidRulebook) as refused:
        read_rule_set(files)
    (fault,) = refused.value.faults
    assert (fault.file, fault.line) == (name, files[name].count("\n"))
    assert fault.message.find(message) >= 0, fault.message


def test_all_errors_of_all_files_come_at_once() -> None:
    files = with_rows("days.csv", "NYSE,,2027-01-01,holiday,New Year,,,a circular,")
    files["charges.csv"] = "exchanges,rate\nNSE,1\n"
    del files["brokers.csv"]
    with pytest.raises(InvalidRulebook) as refused:
        read_rule_set(files)
    assert [(fault.file, fault.line > 0) for fault in refused.value.faults] == [
        ("charges.csv", True),
        ("brokers.csv", False),
        ("days.csv", True),
    ]
    assert "lacks the columns first_date, item" in str(refused.value)


def test_without_an_edition_the_bundled_one_holds(db: None) -> None:
    assert rule_sets.current_rule_set() is bundled_rule_set()


def test_a_file_replaces_the_file_of_its_name_in_a_new_version(db: None) -> None:
    days = bundled_files()["days.csv"]
    first = services.load_rule_set(files={"days.csv": days + HOLIDAY}, source="first", now=make.NOW)
    brokers = bundled_files()["brokers.csv"].replace(
        "options,,2009-01-01,20", "options,,2009-01-01,15"
    )
    second = services.load_rule_set(files={"brokers.csv": brokers}, source="second", now=make.NOW)
    assert first is not None
    assert second is not None
    held = rule_sets.current_rule_set()
    assert held.sha256 == second.sha256
    assert len(held.days) == len(bundled_rule_set().days) + 1
    assert held.charges == bundled_rule_set().charges


def test_loading_the_rulebook_in_force_changes_nothing(db: None) -> None:
    assert services.load_rule_set(files=bundled_files(), source="again", now=make.NOW) is None
    assert not RuleSetVersion.objects.exists()


def test_an_edition_without_funds_taxes_them_as_shares(
    db: None,
) -> None:
    """The edition has neither a list of funds nor depository charges; the bundled ones are used."""
    files = bundled_files()
    files["charges.csv"] = "".join(
        line for line in files["charges.csv"].splitlines(keepends=True) if "_etf" not in line
    )
    del files["etfs.csv"], files["depository.csv"]
    RuleSetVersion.objects.create(files=files, sha256="0" * 64, source="old", loaded_at=make.NOW)
    rule_set = rule_sets.current_rule_set()
    assert (rule_set.etfs, rule_set.depository) == (
        bundled_rule_set().etfs,
        bundled_rule_set().depository,
    )
    basis = charge_basis_of(rule_set, "NSE:NIFTYBEES", product="delivery", broker="zerodha")
    sale = charges_of(rule_set, basis, side="sell", value=Decimal(10**5), day=date(2025, 6, 2))
    amounts = {charge.item: charge.amount for charge in sale.charges}
    assert (amounts["transaction_tax"], amounts["depository_charge"]) == (Decimal(100), Decimal(13))


def test_the_command_loads_a_file_and_reports_unknown_facts(db: None, tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text(bundled_files()["days.csv"] + HOLIDAY, encoding="utf-8-sig")
    said = StringIO()
    call_command("load_rulebook", str(path), "--dry-run", stdout=said)
    assert not RuleSetVersion.objects.exists()
    call_command("load_rulebook", str(path), stdout=said)
    edition = RuleSetVersion.objects.get()
    assert edition.source == str(path)
    output = said.getvalue()
    assert f"dry run: edition {edition.sha256[:12]} was not loaded" in output
    assert f"edition {edition.sha256[:12]} is in force" in output
    assert "not known: charges.csv: something is unsourced in lines" in output
    call_command("load_rulebook", str(tmp_path), stdout=said)
    assert "nothing changed" in said.getvalue()


def test_the_command_refuses_an_invalid_rulebook(db: None, tmp_path: Path) -> None:
    path = tmp_path / "fees.csv"
    path.write_text("a,b\n")
    with pytest.raises(CommandError, match=r"no fees\.csv; its files are charges\.csv"):
        call_command("load_rulebook", str(path))
    path.rename(tmp_path / "days.csv")
    with pytest.raises(CommandError, match=r"days\.csv:1: lacks the columns"):
        call_command("load_rulebook", str(tmp_path))
    with pytest.raises(CommandError, match="No such file"):
        call_command("load_rulebook", str(tmp_path / "none"))
    assert not RuleSetVersion.objects.exists()
