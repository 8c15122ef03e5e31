"""`manage.py kill_switch on|off --reason …`"""

import os
import pwd
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import User
from apps.core.models import AuditRecord
from apps.trading.models import GlobalSwitch
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.trading.algorithm_states import stopped_algorithm

pytestmark = pytest.mark.django_db


def turn(state: str, reason: str = "bad data") -> str:
    out = StringIO()
    call_command("kill_switch", state, "--reason", reason, stdout=out)
    return out.getvalue()


def test_the_command_halts_and_resumes_trading(api: Api, alice: User) -> None:
    path = f"/api/trading/algorithms/{stopped_algorithm(alice).pk}/start"
    assert "halted for everybody since" in turn("on")
    assert_error(api(alice).post(path), 503, "SERVICE_UNAVAILABLE", reason="global_kill_switch")
    assert "continues" in turn("off")
    assert api(alice).post(path).status_code == 200


def test_each_use_is_on_record_for_the_command_line() -> None:
    turn("on", "first")
    assert "first" in turn("on", "second")
    turn("off", "over")
    account = pwd.getpwuid(os.getuid()).pw_name
    uses = AuditRecord.objects.filter(object_type="globalswitch").order_by("id")
    assert [(use.action, use.details, use.actor_kind, use.actor) for use in uses] == [
        ("kill_switch_on", {"reason": "first"}, "command", account),
        ("kill_switch_on", {"reason": "second"}, "command", account),
        ("kill_switch_off", {"reason": "over"}, "command", account),
    ]


@pytest.mark.parametrize("reason", ["", " ", "x" * 201, "a\nb"])
def test_a_reason_is_needed(reason: str) -> None:
    with pytest.raises(CommandError, match="--reason"):
        turn("on", reason)
    assert not GlobalSwitch.objects.exists()


def test_turning_it_off_twice_is_an_error() -> None:
    with pytest.raises(CommandError, match="off already"):
        turn("off")
    assert not AuditRecord.objects.exists()
