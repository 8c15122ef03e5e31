"""Single trades become bars of a minute; and Kite's WebSocket as a feed."""

import sys
from collections.abc import Iterator, Mapping
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.market.candles import reading
from apps.market.candles.buffer import CandleRow
from apps.market.feeds.follower import follow
from apps.market.feeds.kite import KiteFeed
from apps.market.feeds.ticks import LATE_TRADE_SECONDS, MinuteBars, Tick
from apps.symbols.models import Instrument, InstrumentAlias, Source
from tests.market.bars import at
from tests.market.kite_stand_in import KiteStandIn, quote
from tests.symbols.instruments import equity

SBIN, NIFTY = "NSE:SBIN", "NSE:NIFTY"
TOKEN = 738561
OPENING = at("2026-10-30 09:15")


def send_ticks(
    minutes: MinuteBars, *ticks: tuple[int, float, float | None], symbol: str = SBIN
) -> None:
    """Send ticks these seconds after the opening."""
    for seconds, price, volume in ticks:
        minutes.add(Tick(symbol, OPENING + seconds, price, volume))


def ended(minutes: MinuteBars, seconds: int) -> list[Mapping[str, CandleRow]]:
    return minutes.ended(OPENING + seconds)


def test_trades_of_a_minute_make_its_bar_once_it_is_over() -> None:
    minutes = MinuteBars(connected_at=OPENING - 30)
    send_ticks(minutes, (-5, 99, 40), (1, 100, 50), (20, 102, 60), (40, 98, 65), (59, 101, 90))
    send_ticks(minutes, (10, 25_000, None), (50, 25_010, None), symbol=NIFTY)
    assert ended(minutes, 60 + LATE_TRADE_SECONDS - 1) == []
    assert ended(minutes, 60 + LATE_TRADE_SECONDS) == [
        {
            SBIN: (OPENING, 100, 102, 98, 101, 50),
            NIFTY: (OPENING, 25_000, 25_010, 25_000, 25_010, 0),
        }
    ]
    assert ended(minutes, 200) == []


def test_a_quote_without_a_trade_makes_no_bar_and_a_late_trade_no_second_one() -> None:
    minutes = MinuteBars(connected_at=OPENING - 30)
    send_ticks(minutes, (1, 100, 50), (61, 100, 50))
    assert len(ended(minutes, 300)) == 1
    send_ticks(minutes, (59, 105, 60))
    assert ended(minutes, 300) == []


def test_a_minute_that_was_not_seen_as_a_whole_makes_no_bar() -> None:
    minutes = MinuteBars(connected_at=OPENING + 20)
    send_ticks(minutes, (30, 100, 50), (70, 101, 60))
    minutes.begin_anew(OPENING + 90)
    send_ticks(minutes, (100, 102, 70), (130, 103, 80))
    assert ended(minutes, 300) == [{SBIN: (OPENING + 120, 103, 103, 103, 103, 10)}]


def test_the_count_of_traded_units_restarts_each_day() -> None:
    minutes = MinuteBars(connected_at=OPENING - 86_400)
    send_ticks(minutes, (-50_000, 100, 9000), (5, 100, 30), (8, 100, 45))
    assert ended(minutes, 300)[-1][SBIN][-1] == 45


class Clock:
    now = float(OPENING - 30)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def kite() -> Iterator[KiteStandIn]:
    server = KiteStandIn()
    yield server
    server.close()


def trades(*trades_of_day: tuple[int, float, int]) -> list[bytes]:
    """Return packets of trades these seconds after the opening, each beside one of another
    symbol.
    """
    return [
        quote(token, time=OPENING + seconds, price=price, volume=volume)
        for seconds, price, volume in trades_of_day
        for token in (TOKEN, 1)
    ]


def serve(kite: KiteStandIn, clock: Clock, stored: SimpleQueue[None]) -> None:
    """Serve a connection that is lost after the first stored bar, and made again."""
    assert kite.paths.get(timeout=20) == "/?api_key=key&access_token=token"
    assert kite.asked.get(timeout=20) == {"a": "subscribe", "v": [TOKEN]}
    assert kite.asked.get(timeout=20) == {"a": "mode", "v": ["full", [TOKEN]]}
    kite.tell(*trades((-1, 99, 10), (5, 100, 20), (50, 100.5, 35)))
    clock.now = OPENING + 63
    stored.get(timeout=20)
    kite.break_off()
    assert kite.asked.get(timeout=20) == {"a": "subscribe", "v": [TOKEN]}
    assert kite.asked.get(timeout=20) == {"a": "mode", "v": ["full", [TOKEN]]}
    kite.tell(*trades((70, 101, 50), (190, 103, 80)))
    clock.now = OPENING + 250


@pytest.mark.django_db
@pytest.mark.filterwarnings("ignore")  # from the package and its dependencies
def test_kite_is_followed_through_a_lost_connection(kite: KiteStandIn) -> None:
    clock, stored, done = Clock(), SimpleQueue[None](), Event()
    feed = KiteFeed(
        api_key="key", access_token="token", tokens={TOKEN: SBIN}, root=kite.root, clock=clock
    )
    server = Thread(target=serve, args=(kite, clock, stored))
    server.start()
    for bars in follow(feed.closed(stopping=done.is_set)):
        stored.put(None)
        if bars[SBIN][0] == OPENING + 180:
            done.set()
    server.join()
    held = reading.read_bars(SBIN, "1m", start=OPENING, end=OPENING + 600)
    assert held.time.tolist() == [OPENING, OPENING + 180]
    assert (held.open[0], held.high[0], held.close[0], held.volume[0]) == (100, 100.5, 100.5, 25)


@pytest.mark.django_db
def test_kite_is_off_unless_configured(settings: Any) -> None:
    with pytest.raises(CommandError, match="KITE_API_KEY"):
        call_command("feed", "--kite", "--symbols", SBIN)
    settings.KITE_API_KEY = settings.KITE_ACCESS_TOKEN = "given"
    equity(SBIN)
    with pytest.raises(CommandError, match="it lacks"):
        call_command("feed", "--kite", "--symbols", SBIN)


@pytest.mark.django_db
def test_a_feed_without_its_package_names_the_install_command(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.KITE_API_KEY = settings.KITE_ACCESS_TOKEN = "given"
    equity(SBIN)
    listed = Instrument.objects.get(symbol=SBIN)
    InstrumentAlias(instrument=listed, source=Source.KITE, name="SBIN", token=str(TOKEN)).save()
    monkeypatch.setitem(sys.modules, "kiteconnect", None)
    with pytest.raises(CommandError, match=r"\.venv/bin/python -m pip install 'kiteconnect>=5"):
        call_command("feed", "--kite", "--symbols", SBIN)
