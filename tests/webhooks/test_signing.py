"""Signatures, verified by the public package that receivers use."""

import time

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from apps.webhooks.sending.signing import new_secret, sign_message

BODY = '{"id":"1","type":"webhook.test","data":{"note":"₹ 5 only"}}'.encode()


def headers(*secrets: str, at: int | None = None) -> dict[str, str]:
    now = int(time.time()) if at is None else at
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(now),
        "webhook-signature": sign_message(secrets, id="msg_1", at=now, body=BODY),
    }


def test_the_public_package_verifies_a_signature() -> None:
    secret = new_secret()
    assert Webhook(secret).verify(BODY, headers(secret))["type"] == "webhook.test"


def test_while_a_secret_is_replaced_both_verify() -> None:
    old, new = new_secret(), new_secret()
    for secret in (old, new):
        Webhook(secret).verify(BODY, headers(new, old))


def test_a_changed_body_another_id_and_another_secret_do_not_verify() -> None:
    secret = new_secret()
    good = headers(secret)
    for key, body, changed in (
        (secret, BODY + b" ", good),
        (secret, BODY, good | {"webhook-id": "msg_2"}),
        (new_secret(), BODY, good),
        (secret, BODY, headers(secret, at=int(time.time()) - 3600)),
    ):
        with pytest.raises(WebhookVerificationError):
            Webhook(key).verify(body, changed)


def test_the_example_of_the_specification() -> None:
    """The example is the test vector of the specification's own libraries."""
    signed = sign_message(
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        at=1614265330,
        body=b'{"test": 2432232314}',
    )
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_secrets_are_unique() -> None:
    assert len({new_secret() for _ in range(100)}) == 100
