"""/api/trading/account"""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from django.conf import LazySettings
from django.db import DatabaseError, connection, transaction
from django.db.models import Sum

from apps.accounts.models import User
from apps.core.models import AuditRecord
from apps.trading import services
from apps.trading.models import Account, LedgerEntry, Posting
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.trading.algorithm_states import hold, start, stop, stopped_algorithm

PATH = "/api/trading/account"
NEW = {
    "balance": 10_000_000,
    "reserved": 0,
    "available": 10_000_000,
    "equity": 10_000_000,
    "currency": "INR",
}


def test_the_account_is_opened_at_the_first_request(api: Api, alice: User, bob: User) -> None:
    assert api(alice).get(PATH).json() == NEW
    assert api(alice).get(PATH).json() == NEW
    account = Account.objects.get()
    assert account.owner == alice
    entry = account.entries.get()
    assert entry.kind == "opening"
    assert dict(entry.postings.values_list("book", "amount")) == {
        "cash": Decimal(10_000_000),
        "capital": Decimal(-10_000_000),
    }


def test_the_account_opens_with_the_configured_capital(
    api: Api, alice: User, settings: LazySettings
) -> None:
    settings.PAPER_ACCOUNT_BALANCE = 500_000
    assert api(alice).get(PATH).json()["balance"] == 500_000
    settings.PAPER_ACCOUNT_BALANCE = 600_000
    assert api(alice).get(PATH).json()["balance"] == 500_000


def test_money_held_by_runs_is_not_available(api: Api, alice: User) -> None:
    start(stopped_algorithm(alice, initialCapital=250_000.75))
    start(stopped_algorithm(alice))
    assert api(alice).get(PATH).json() == NEW | {
        "reserved": 1_250_000.75,
        "available": 8_749_999.25,
    }


def test_equity_includes_open_profit_and_loss(api: Api, alice: User) -> None:
    run = start(stopped_algorithm(alice))
    hold(run, "NSE:A", unrealised=Decimal("1500.25"))
    hold(run, "NSE:B", unrealised=Decimal("-300"))
    hold(run, "NSE:C", unrealised=Decimal("9999"), closed_at=run.started_at)
    answer = api(alice).get(PATH).json()
    assert (answer["balance"], answer["equity"]) == (10_000_000, 10_001_200.25)


def test_a_reset_account_has_the_capital_of_a_new_one(
    api: Api, alice: User, settings: LazySettings
) -> None:
    settings.PAPER_ACCOUNT_BALANCE = 7_000_000
    api(alice).get(PATH)
    settings.PAPER_ACCOUNT_BALANCE = 10_000_000
    response = api(alice).post(f"{PATH}/reset")
    assert (response.status_code, response.json()) == (200, NEW)
    postings = Posting.objects.filter(book="cash").order_by("id")
    assert list(postings.values_list("entry__kind", "amount")) == [
        ("opening", Decimal(7_000_000)),
        ("reset", Decimal(3_000_000)),
    ]
    assert AuditRecord.objects.get(action="account_reset").details["balance"] == [
        "7000000.00",
        "10000000",
    ]


def test_the_balance_is_the_sum_of_the_ledger(
    api: Api, alice: User, settings: LazySettings
) -> None:
    for balance in (5, 900_000, 10_000_000, 1):
        settings.PAPER_ACCOUNT_BALANCE = balance
        assert api(alice).post(f"{PATH}/reset").json()["balance"] == balance
    total = Posting.objects.filter(book="cash").aggregate(total=Sum("amount"))["total"]
    assert total == Account.objects.get().balance == 1
    assert Posting.objects.aggregate(total=Sum("amount"))["total"] == 0


@pytest.mark.django_db(transaction=True)
def test_a_locked_account_can_be_read() -> None:
    owner = make.user()
    services.read_account(owner=owner, now=make.NOW)

    def read() -> Decimal:
        try:
            return services.read_account(owner=owner, now=make.NOW).equity
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        Account.objects.locked().get()
        assert pool.submit(read).result(timeout=5) == 10_000_000


def test_postings_that_do_not_add_up_are_refused(api: Api, alice: User) -> None:
    api(alice).get(PATH)
    with pytest.raises(DatabaseError, match="add up to zero"), transaction.atomic():
        LedgerEntry.objects.get().postings.create(book="cash", amount=1)


def test_the_account_cannot_be_reset_while_a_run_is_open(api: Api, alice: User) -> None:
    algorithm = stopped_algorithm(alice)
    hold(start(algorithm))
    for _ in "running", "stopped with a position":
        response = api(alice).post(f"{PATH}/reset")
        assert_error(response, 422, "UNPROCESSABLE_ENTITY", algorithmIds=[algorithm.pk])
        if algorithm.runs.live().exists():
            stop(algorithm, close_positions=False)


def test_another_users_runs_do_not_prevent_a_reset(api: Api, alice: User, bob: User) -> None:
    start(stopped_algorithm(bob))
    assert api(alice).post(f"{PATH}/reset").status_code == 200


@pytest.mark.parametrize("changes", [{"reserved": -1}, {"reserved": 11}, {"balance": -1}])
def test_the_database_never_reserves_more_than_the_balance(
    alice: User, api: Api, changes: dict[str, int]
) -> None:
    account = Account.objects.create(owner=alice, balance=10, opened_at=alice.created_at)
    with pytest.raises(DatabaseError, match="account_reserves_what_it_has"):
        Account.objects.filter(pk=account.pk).update(**changes)


def test_the_ledger_is_never_rewritten(api: Api, alice: User) -> None:
    api(alice).get(PATH)
    with pytest.raises(DatabaseError, match="never rewritten"), transaction.atomic():
        Posting.objects.update(amount=1)
    with pytest.raises(DatabaseError, match="never rewritten"), transaction.atomic():
        LedgerEntry.objects.get().save()
    alice.delete()
    assert not LedgerEntry.objects.exists()
    connection.check_constraints()
