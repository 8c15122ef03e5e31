"""Alerts on the performance: seen, added, changed and removed in one form."""

import pytest

from apps.accounts.models import User
from tests import make
from tests.console.conftest import Browse

pytestmark = pytest.mark.django_db


def test_alerts_are_added_changed_and_removed(browse: Browse, alice: User) -> None:
    algorithm, client = make.algorithm(alice, **make.steps()), browse(alice)
    address = f"/app/algorithms/{algorithm.pk}"
    form = {
        "maxDrawdown.threshold": "10 %",
        "maxDrawdown.action": "pause_algorithm",
        "winRate.threshold": "",
        "winRate.action": "send_notification",
    }
    assert client.post(f"{address}/alerts", form)["Location"] == address
    algorithm.refresh_from_db()
    pause = {"threshold": 10, "action": "pause_algorithm"}
    assert algorithm.alerts == {"maxDrawdown": pause}
    page = client.get(address).content.decode()
    assert 'name="maxDrawdown.threshold" value="10' in page
    assert 'value="pause_algorithm" selected' in page
    form |= {"maxDrawdown.threshold": "", "winRate.threshold": "40.5"}
    client.post(f"{address}/alerts", form)
    algorithm.refresh_from_db()
    assert algorithm.alerts == {"winRate": {"threshold": 40.5, "action": "send_notification"}}


def test_a_wrong_threshold_stays_typed_with_its_problem(browse: Browse, alice: User) -> None:
    algorithm, client = make.algorithm(alice), browse(alice)
    form = {"profitFactor.threshold": "<low>", "profitFactor.action": "send_notification"}
    refused = client.post(f"/app/algorithms/{algorithm.pk}/alerts", form)
    page = refused.content.decode()
    assert refused.status_code == 400
    assert 'value="&lt;low&gt;"' in page
    assert page.count('class="problem"') == 1
    algorithm.refresh_from_db()
    assert algorithm.alerts == {}


def test_nobody_sets_alerts_of_others(browse: Browse, alice: User, bob: User) -> None:
    algorithm, stranger = make.algorithm(alice), browse(bob)
    assert stranger.get(f"/app/algorithms/{algorithm.pk}/alerts").status_code == 404
    assert stranger.post(f"/app/algorithms/{algorithm.pk}/alerts").status_code == 404
