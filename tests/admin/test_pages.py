"""Rules for every page of the admin."""

import pytest
from django.contrib import admin
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.accounts.models import User
from apps.alerts.models import AlertHook
from apps.backtests.models import Backtest
from apps.core import audit
from apps.core.jobs import job_queue
from apps.core.models import AuditRecord
from apps.core.operator_pages import MOST_COUNTED, BoundedPaginator
from apps.symbols.models import Instrument
from tests import make
from tests.admin.conftest import an_operator, browser_of
from tests.alerts.hooks import alert_in, hook_of
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.market.bars import store_candles
from tests.symbols.instruments import equity

MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)


pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def alice(kept: None) -> User:
    return make.user("alice")


@pytest.fixture(scope="module")
def operator(kept: None) -> Client:
    return browser_of(an_operator())


@pytest.fixture(scope="module")
def rows_of_every_model(operator: Client, alice: User) -> None:
    """Make at least one row for most pages."""
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    equity("NSE:WIPRO")
    submit(alice)
    alert_in(hook_of(alice))


def page(model: type[Model], name: str, *arguments: object) -> str:
    address = f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}"
    return reverse(address, args=arguments)


@pytest.mark.usefixtures("rows_of_every_model")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_lists_and_detail_pages_of_every_model_open(operator: Client, model: type[Model]) -> None:
    """No list counts all its rows."""
    with CaptureQueriesContext(connection) as queries:
        assert operator.get(page(model, "changelist")).status_code == 200
    counts = [query["sql"] for query in queries if "COUNT(*)" in query["sql"]]
    assert counts
    assert [sql for sql in counts if f"LIMIT {MOST_COUNTED}" not in sql] == []
    assert operator.get(page(model, "changelist") + "?q=x").status_code == 200
    for instance in model._default_manager.all()[:1]:
        assert operator.get(page(model, "change", instance.pk)).status_code == 200


@pytest.mark.usefixtures("rows_of_every_model")
def test_the_page_of_a_hook_shows_no_digest_of_its_secret(operator: Client) -> None:
    hook = AlertHook.objects.get()
    shown = operator.get(page(AlertHook, "change", hook.pk)).text
    assert hook.name in shown
    assert hook.secret_digest not in shown


@pytest.mark.usefixtures("rows_of_every_model")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_pages_offer_no_adding_or_deleting(operator: Client, model: type[Model]) -> None:
    assert operator.get(page(model, "add")).status_code == 403
    for instance in model._default_manager.all()[:1]:
        assert operator.post(page(model, "delete", instance.pk), {"post": "yes"}).status_code == 403
        assert type(instance)._default_manager.filter(pk=instance.pk).exists()


def test_a_list_of_many_is_counted_only_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.core.operator_pages.MOST_COUNTED", 2)
    for name in ("a", "b", "c"):
        make.user(name)
    assert BoundedPaginator(User.objects.order_by("email"), 1).count == 2


def test_the_history_of_an_object_lists_its_audit_records(
    operator: Client, alice: User, bob: User
) -> None:
    for user in (alice, bob):
        action = audit.Action.PROFILE_CHANGED
        audit.record(action, user, actor=audit.user(user), now=make.NOW)
    answer = operator.get(page(User, "history", alice.pk), follow=True)
    assert answer.redirect_chain == [(f"{page(AuditRecord, 'changelist')}?q={alice.pk}", 302)]
    assert alice.pk in answer.text
    assert bob.pk not in answer.text


def test_times_are_shown_in_indian_time_to_the_second(operator: Client, alice: User) -> None:
    audit.record(audit.Action.LOGIN, alice, actor=audit.user(alice), now=make.NOW)
    assert "2026-11-02 09:30:00 IST" in operator.get(page(AuditRecord, "changelist")).text


def test_the_queue_page_shows_the_queue(operator: Client, alice: User) -> None:
    job_queue.enqueue("some.work", queue="small", arguments=[{"number": 7}])
    listed = operator.get("/admin/procrastinate/procrastinatejob/").text
    assert "some.work" in listed
    assert "todo" in listed
    assert "Retry" not in listed


@pytest.mark.parametrize("term", ["alice@example.com", "ALICE@example.com", "owner", "algorithm"])
def test_a_backtest_is_found_by_its_owner_or_algorithm(
    operator: Client, alice: User, bob: User, rows_of_every_model: None, term: str
) -> None:
    backtest = Backtest.objects.get()
    other = submit(bob)
    ids = {"owner": alice.pk, "algorithm": backtest.algorithm_id}
    listed = operator.get(page(Backtest, "changelist"), {"q": ids.get(term, term)}).text
    assert backtest.pk in listed
    assert other.pk not in listed


def test_an_instrument_is_found_by_its_symbol(operator: Client) -> None:
    equity("NSE:TCS")
    equity("NSE:INFY")
    listed = operator.get("/admin/symbols/instrument/", {"q": "nse:tcs"}).text
    assert "NSE:TCS" in listed
    assert "NSE:INFY" not in listed


def test_an_instrument_s_aliases_and_terms_are_shown_and_stay(operator: Client) -> None:
    row = equity("NSE:TCS")
    row.aliases.create(source="kite", name="TCS-EQ", token="2953217")
    row.terms.create(valid_from="2024-06-10", lot_size=175, source="kite")
    shown = operator.get(page(Instrument, "change", row.pk)).text
    wanted = ("TCS-EQ", "2953217", "2024", "175")
    assert [text for text in wanted if text not in shown] == []
    assert '<input type="text" name="aliases' not in shown
