"""Chats of Telegram, Slack and Discord, against a stand-in: linking, limits, refusals, secrets."""

import logging
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_network
from itertools import pairwise
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from pytest_django import Settings

from apps.accounts.models import User
from apps.core.errors import InvalidInput
from apps.core.times import INDIA
from apps.webhooks import services, tasks
from apps.webhooks.event_types import EVENT_SCHEMAS, EventType
from apps.webhooks.events import outbox
from apps.webhooks.lifecycle import DeliveryQueue
from apps.webhooks.models import Attempt, Delivery, Endpoint, TelegramLink
from apps.webhooks.sending import delivery, dispatch, kinds, linking
from tests import make
from tests.backtests.workers import never
from tests.webhooks.bot_api import TOKEN, Chats, chats
from tests.webhooks.events import ALGORITHM_ID

pytestmark = pytest.mark.django_db(transaction=True)

TRADE = EventType.TRADE_EXECUTED


@pytest.fixture(autouse=True)
def on_this_machine(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setattr(dispatch, "LINGER_SECONDS", 0.0)
    monkeypatch.setattr(dispatch, "POLL_SECONDS", 0.01)
    settings.WEBHOOK_ALLOW_CIDRS, settings.WEBHOOK_ALLOW_HTTP = [ip_network("127.0.0.0/8")], True


@pytest.fixture
def alice() -> User:
    return make.user("alice")


@pytest.fixture
def stand_in(settings: Settings) -> Iterator[Chats]:
    with chats() as made:
        settings.TELEGRAM_API_URL = made.api
        yield made


def telegram(owner: User, *, token: str = TOKEN, **fields: Any) -> Endpoint:
    """Return a Telegram endpoint that waits for its chat."""
    made, secret = services.create(
        owner=owner, kind="telegram", token=token, events=[TRADE], now=timezone.now(), **fields
    )
    assert secret is None
    return made


def ask(endpoint: Endpoint) -> None:
    """Ask for the code of an endpoint once."""
    link = TelegramLink.objects.select_related("endpoint").get(endpoint=endpoint)
    linking.try_link(link, ask=tasks._ask, now=timezone.now())


def linked(owner: User, stand_in: Chats, *, chat: int = 42, **fields: Any) -> Endpoint:
    made = telegram(owner, **fields)
    stand_in.say(f"/start {made.link.code.lower()}", chat=chat)
    ask(made)
    made.refresh_from_db()
    Delivery.objects.filter(endpoint=made).delete()  # its first test
    return made


def chat_of(owner: User, kind: str, url: str) -> Endpoint:
    made, _ = services.create(owner=owner, kind=kind, url=url, events=[TRADE], now=timezone.now())
    return made


def trade(owner: User, algorithm_id: str = ALGORITHM_ID, **data: object) -> None:
    example = {**EVENT_SCHEMAS[TRADE].example, **data}
    outbox.write_event(
        TRADE, owner_id=owner.pk, algorithm_id=algorithm_id, data=example, now=timezone.now()
    )


def run() -> int:
    return dispatch.Dispatcher(send=tasks._send, clock=timezone.now).run(stopping=never)


def statuses() -> set[str]:
    return set(Delivery.objects.values_list("status", flat=True))


# Linking.


def test_the_message_with_the_code_links_its_chat(alice: User, stand_in: Chats) -> None:
    made = telegram(alice)
    assert (made.status, made.disabled_reason) == ("disabled", "unlinked")
    stand_in.say("hello")
    ask(made)
    assert TelegramLink.objects.get().offset == 2
    stand_in.say(f"/start {made.link.code}", chat=77)
    ask(made)
    made.refresh_from_db()
    assert (made.status, made.disabled_reason) == ("enabled", "")
    assert not TelegramLink.objects.exists()
    run()
    [message] = stand_in.taken
    assert (message.chat, message.text[6:]) == (77, "A test: notices arrive here.")
    assert statuses() == {"delivered"}


def test_nothing_is_asked_once_no_code_is_pending(alice: User, stand_in: Chats) -> None:
    made = telegram(alice)
    late = timezone.now() + linking.VALID
    linking.work(ask=tasks._ask, clock=lambda: late, stopping=never)
    assert stand_in.asked == 0
    with pytest.raises(services.NoChat):
        enable(made)
    again = services.link(owner=alice, endpoint_id=made.pk, now=timezone.now())
    assert again.link.code != made.link.code
    stand_in.say(again.link.code)
    linking.work(ask=tasks._ask, clock=timezone.now, stopping=never)
    assert Endpoint.objects.get().status == "enabled"
    assert stand_in.asked == 1
    with pytest.raises(services.NothingToLink):
        services.link(owner=alice, endpoint_id=made.pk, now=timezone.now())


def enable(endpoint: Endpoint) -> None:
    services.change(
        owner=endpoint.owner,
        endpoint_id=endpoint.pk,
        changes={"status": "enabled"},
        now=timezone.now(),
    )


def test_another_code_links_nothing(alice: User, stand_in: Chats) -> None:
    made = telegram(alice)
    stand_in.say(f"x{made.link.code}")
    stand_in.say("AAAAAAAA")
    ask(made)
    assert Endpoint.objects.get().status == "disabled"


@pytest.mark.parametrize(
    ("status", "problem", "pending"),
    [(401, "token", False), (409, "conflict", True), (500, "unreachable", True)],
)
def test_a_failed_question_says_why(
    alice: User, stand_in: Chats, status: int, problem: str, pending: bool
) -> None:
    made = telegram(alice)
    stand_in.refuse = lambda body: (status, {"ok": False})
    ask(made)
    link = TelegramLink.objects.get()
    assert link.problem == problem
    assert (link.expires_at > timezone.now()) == pending


def test_a_chat_is_linked_once(alice: User, stand_in: Chats) -> None:
    linked(alice, stand_in)
    second = telegram(alice)
    stand_in.say(second.link.code)
    ask(second)
    assert TelegramLink.objects.get().problem == "taken"
    linked(alice, stand_in, chat=-5)
    assert set(Endpoint.objects.exclude(bot="").values_list("bot_slot", flat=True)) == {1, 2}


def test_the_database_keeps_thirty_chats_to_a_bot(alice: User, stand_in: Chats) -> None:
    """With one message a second in a chat, a bot never sends more than 30 a second."""
    made = linked(alice, stand_in)
    for slot in (0, 31):
        with pytest.raises(IntegrityError), transaction.atomic():
            Endpoint.objects.filter(pk=made.pk).update(bot_slot=slot)
    with pytest.raises(IntegrityError), transaction.atomic():
        Endpoint.objects.filter(pk=made.pk).update(chat="")
    Endpoint.objects.filter(pk=made.pk).update(bot_slot=30)
    second = linked(alice, stand_in, chat=43)
    with pytest.raises(IntegrityError), transaction.atomic():
        Endpoint.objects.filter(pk=second.pk).update(bot_slot=30)


# Messages.


def test_a_fill_is_told_with_its_money(alice: User, stand_in: Chats) -> None:
    linked(alice, stand_in)
    sold: dict[str, Any] = {"side": "sell", "reason": "take_profit", "price": 101412.5}
    sold |= {"positionAfter": 0}
    trade(alice, **sold, tradeProfit=123456.5, realisedProfit=123500.0, profitToday=-1200.0)
    assert run() == 1
    [text] = stand_in.texts
    assert text.split(" ", 1)[1] == (
        "Opening breakout sold 10 RELIANCE at ₹1,01,412.50: +₹1,23,456.50 (take profit).\n"
        "Position closed, charges ₹2.31, today \N{MINUS SIGN}₹1,200.00"
    )


def test_slack_and_discord_take_their_own_forms(alice: User, stand_in: Chats) -> None:
    """Both refuse the envelope of a webhook, which has neither `text` nor `content`."""
    envelope = {"id": "a", "type": "trade.executed", "data": {}}
    assert stand_in.answer("/services/T0/B0/x", envelope)[0] == 400
    assert stand_in.answer("/api/webhooks/1/x", envelope)[0] == 400
    for kind, url in (("slack", stand_in.slack), ("discord", stand_in.discord)):
        made = chat_of(alice, kind, url)
        assert made.url == f"{stand_in.api}/"
    trade(alice, algorithmName="<Rise> & @everyone")
    assert run() == 2
    slack, discord = sorted(stand_in.texts)[0], sorted(stand_in.texts)[1]
    assert "&lt;Rise&gt; &amp; @everyone bought 10" in slack
    assert "<Rise> & @everyone bought 10" in discord
    assert {message.path for message in stand_in.taken} == {
        "/services/T0/B0/secretOfSlack",
        "/api/webhooks/1/secretOfDiscord",
    }
    assert statuses() == {"delivered"}


def test_events_that_wait_for_a_chat_go_in_one_message(alice: User, stand_in: Chats) -> None:
    linked(alice, stand_in)
    for number in range(60):
        trade(alice, f"{number:024x}", algorithmName=f"Algorithm {number}")
    run_briefly()
    assert statuses() == {"delivered"}
    whole = "\n".join(stand_in.texts)
    for number in range(60):
        assert whole.count(f"Algorithm {number} bought") == 1
    assert 1 < len(stand_in.taken) <= 4
    assert all(len(text) <= 4096 for text in stand_in.texts)
    gaps = [later.at - message.at for message, later in pairwise(stand_in.taken)]
    assert min(gaps) >= 1.0


def test_a_text_that_is_too_long_keeps_whole_lines(alice: User, stand_in: Chats) -> None:
    """Discord takes 2,000 characters: a summary of fifty algorithms is longer."""
    row = {**EVENT_SCHEMAS[EventType.DAY_SUMMARY].example["algorithms"][0]}  # type: ignore[index]
    rows = [{**row, "algorithmName": f"Algorithm {number}"} for number in range(50)]
    data = {**EVENT_SCHEMAS[EventType.DAY_SUMMARY].example, "algorithms": rows}
    services.create(
        owner=alice,
        kind="discord",
        url=stand_in.discord,
        events=[EventType.DAY_SUMMARY],
        now=timezone.now(),
    )
    yesterday = timezone.now() - timedelta(days=1)
    outbox.write_event(
        EventType.DAY_SUMMARY, owner_id=alice.pk, algorithm_id=alice.pk, data=data, now=yesterday
    )
    run()
    [text] = stand_in.texts
    local = yesterday.astimezone(INDIA)
    assert text.startswith(f"{local.day} {local:%b %H:%M} 20 Nov: +₹1,655.80.")
    assert text.endswith("1 open position\n…")
    assert 1500 < len(text) <= 2000
    assert statuses() == {"delivered"}


@pytest.mark.slow
def test_a_chat_gets_one_message_a_second_and_a_group_one_in_three(
    alice: User, stand_in: Chats
) -> None:
    linked(alice, stand_in)
    linked(alice, stand_in, chat=-7)
    for _ in range(2):
        trade(alice)
        run_briefly()
    for chat, least in ((42, 1.0), (-7, 3.0)):
        first, second = (message.at for message in stand_in.taken if message.chat == chat)
        assert least <= second - first < least + 2


def run_briefly() -> None:
    """Dispatch what waits, chats that will be ready in a moment included."""
    run()
    while Delivery.objects.filter(status="waiting", due_at__lte=timezone.now()).exists():
        time.sleep(0.05)
        run()


def test_a_429_postpones_all_messages_of_the_chat(alice: User, stand_in: Chats) -> None:
    made = linked(alice, stand_in)
    stand_in.refuse = lambda body: (429, {"ok": False, "parameters": {"retry_after": 2}})
    trade(alice)
    begun = time.time()
    monkeyed = dispatch.CHAT_PAUSE
    dispatch.CHAT_PAUSE = timedelta()  # type: ignore[misc]
    try:
        run()
    finally:
        dispatch.CHAT_PAUSE = monkeyed  # type: ignore[misc]
    stand_in.refuse = lambda body: None
    trade(alice)
    run_briefly()
    assert stand_in.refused == {429: 1}
    assert stand_in.taken[0].at - begun >= 2.0
    assert statuses() == {"delivered"}
    made.refresh_from_db()
    assert (made.status, made.failures) == ("enabled", 0)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_switches_the_endpoint_off(alice: User, stand_in: Chats, status: int) -> None:
    made = linked(alice, stand_in)
    stand_in.refuse = lambda body: (status, {"ok": False, "description": "blocked"})
    trade(alice)
    run()
    made.refresh_from_db()
    assert (made.status, made.disabled_reason) == ("disabled", "refused")
    assert statuses() == {"failed"}
    assert Attempt.objects.get().http_status == status
    stand_in.refuse = lambda body: None
    enable(made)
    services.recover(
        owner=alice,
        endpoint_id=made.pk,
        since=timezone.now() - timedelta(hours=1),
        now=timezone.now(),
    )
    run()
    assert len(stand_in.taken) == 1


def test_a_lost_message_says_that_it_comes_again(alice: User, stand_in: Chats) -> None:
    linked(alice, stand_in)
    trade(alice)
    now = timezone.now()
    [claimed] = delivery.claim(DeliveryQueue.FIRST_ATTEMPT, most=10, now=now)
    tasks._send(
        kinds.message_of(claimed.kind, "", claimed.secrets, id="", body=claimed.body, at=now)
    )
    trade(alice)
    delivery.requeue_stalled(now=now + delivery.CLAIM_TIME)
    Delivery.objects.update(due_at=now)
    run()
    first, again, new = stand_in.texts
    assert again == f"Sent again after an interruption: you may have this already.\n\n{first}"
    assert "Sent again" not in new


# Secrets.


def test_the_token_is_in_no_log_and_no_error(
    alice: User, stand_in: Chats, caplog: pytest.LogCaptureFixture, settings: Settings
) -> None:
    """The receiver echoes the address; the next host fails; then the sender itself fails."""
    caplog.set_level(logging.DEBUG)
    secrets = (TOKEN, "secretOfSlack", "secretOfDiscord")
    linked(alice, stand_in)
    for kind, url in (("slack", stand_in.slack), ("discord", stand_in.discord)):
        chat_of(alice, kind, url)
    stand_in.refuse = lambda body: (401, {"description": f"{stand_in.api}/bot{TOKEN}/sendMessage"})
    trade(alice)
    run()
    assert stand_in.refused == {401: 3}
    Endpoint.objects.update(status="enabled", disabled_reason="", ready_at=None)
    settings.TELEGRAM_API_URL = "https://no-such-host.invalid"
    trade(alice)
    run()

    def fail(message: kinds.Message) -> None:
        raise RuntimeError(f"cannot open {message.url}")

    Endpoint.objects.update(status="enabled", disabled_reason="", ready_at=None)
    trade(alice)
    dispatch.Dispatcher(send=fail, clock=timezone.now).run(stopping=never)  # type: ignore[arg-type]
    errors = set(Attempt.objects.values_list("error", flat=True))
    assert errors >= {"status", "internal", "forbidden_address"}
    stored = str(list(Attempt.objects.values())) + str(list(Endpoint.objects.values("url")))
    for secret in secrets:
        assert secret not in caplog.text
        assert secret not in stored
        assert not any(secret.encode() in bytes(own.secret) for own in Endpoint.objects.all())
    records = [record for record in caplog.records if record.exc_info]
    assert not any(TOKEN in str(record.exc_info) for record in records)


@pytest.mark.parametrize("bad", [TOKEN + "!", "12:short", "", f"{TOKEN}/../x"])
def test_a_wrong_token_is_refused_without_being_repeated(
    alice: User, stand_in: Chats, bad: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        telegram(alice, token=bad)
    assert not bad or bad not in str(refusal.value.details)
    assert refusal.value.__cause__ is None


def test_a_wrong_address_of_a_chat_is_not_repeated(alice: User, stand_in: Chats) -> None:
    url = "https://10.0.0.1/services/secretOfSlack"
    with pytest.raises(InvalidInput) as refusal:
        chat_of(alice, "slack", url)
    assert "secretOfSlack" not in str(refusal.value.details)
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__


def run_and_close() -> None:
    run()
    connection.close()


@pytest.mark.slow
def test_two_senders_never_write_to_a_chat_at_once(alice: User, stand_in: Chats) -> None:
    linked(alice, stand_in)
    for number in range(60):
        trade(alice, f"{number:024x}", algorithmName="A" * 90)
    threads = [threading.Thread(target=run_and_close) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run_briefly()
    times = [message.at for message in stand_in.taken]
    assert min(later - earlier for earlier, later in pairwise(times)) >= 1.0
    assert "\n".join(stand_in.texts).count("bought") == 60
