"""The page of the replay refuses what it would read differently."""

import pytest

from apps.accounts.models import User
from apps.market.models import Feed
from tests.console.conftest import Browse
from tests.market.bars import rising_minutes, store_candles

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("symbols", "problem"),
    [("", "Name at least one symbol"), (" , ", "Name at least one symbol"), ("NSE", "colon")],
)
def test_a_replay_of_no_symbols_is_refused(
    browse: Browse, alice: User, symbols: str, problem: str
) -> None:
    store_candles("NSE:INFY", "1m", rising_minutes("2024-01-01 09:15", 30))
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    form = {"action": "start", "symbols": symbols, "speed": "60"}
    page = browse(alice).post("/app/data/replay", form)
    assert page.status_code == 400
    assert problem in page.content.decode()
    assert not Feed.objects.exists()
