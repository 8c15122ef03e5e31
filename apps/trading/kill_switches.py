"""The kill switches, and how a start and a switch that is turned at the same moment meet.

A start shares the lock of the switches' rows until it commits; turning one takes the lock for
itself. So what starts before is seen, and paused, by whoever turns it on, and what comes after
sees that it is on.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

from apps.accounts.models import User
from apps.core.errors import Code, ServiceError
from apps.core.times import wire_time
from apps.trading.models import GlobalSwitch, KillSwitch

RETRY_SECONDS: Final = 60
"""Operators stop everybody for minutes, not for seconds."""

SHARED: Final = 'SELECT * FROM "{table}" WHERE "{key}" = %s FOR SHARE'
SHARED_OF_USER: Final = SHARED.format(table=KillSwitch._meta.db_table, key="owner_id")
SHARED_BY_ALL: Final = SHARED.format(table=GlobalSwitch._meta.db_table, key="id")

SHARED_OF_USERS: Final = (
    f'SELECT * FROM "{KillSwitch._meta.db_table}" WHERE "owner_id" = ANY(%s)'
    ' ORDER BY "owner_id" FOR SHARE'
)


class KillSwitchOn(ServiceError):
    """The caller's own switch: it takes no more than turning it off."""

    code = Code.FORBIDDEN
    message = "Your kill switch is on since {since}; turn it off to start or resume."


class TradingHalted(ServiceError):
    """The operators' switch."""

    code = Code.SERVICE_UNAVAILABLE
    message = "Trading is halted for everybody just now; please try again later."


def share_user_switch(owner: User) -> KillSwitch:
    """As it stays until the transaction ends."""
    found = list(KillSwitch.objects.raw(SHARED_OF_USER, [owner.pk]))
    if not found:
        KillSwitch.objects.bulk_create([KillSwitch(owner=owner)], ignore_conflicts=True)
        found = list(KillSwitch.objects.raw(SHARED_OF_USER, [owner.pk]))
    return found[0]


def share_global_switch() -> GlobalSwitch:
    """As it stays until the transaction ends."""
    found = list(GlobalSwitch.objects.raw(SHARED_BY_ALL, [GlobalSwitch.SINGLETON_ID]))
    if not found:
        GlobalSwitch.objects.bulk_create([GlobalSwitch()], ignore_conflicts=True)
        found = list(GlobalSwitch.objects.raw(SHARED_BY_ALL, [GlobalSwitch.SINGLETON_ID]))
    return found[0]


def lock_user_switch(owner: User) -> KillSwitch:
    """Waits for every start of the owner's that has begun; later ones wait for us."""
    KillSwitch.objects.bulk_create([KillSwitch(owner=owner)], ignore_conflicts=True)
    return KillSwitch.objects.select_for_update().get(owner=owner)


def lock_global_switch() -> GlobalSwitch:
    """Waits for every start that has begun; later ones wait for us."""
    GlobalSwitch.objects.bulk_create([GlobalSwitch()], ignore_conflicts=True)
    return GlobalSwitch.objects.select_for_update().get(pk=GlobalSwitch.SINGLETON_ID)


def share_engaged_since(owners: Collection[str]) -> tuple[datetime | None, Mapping[str, datetime]]:
    """Since when trading is halted for everybody, and for whom of the owners, as it stays until the
    transaction ends. The switches are there: every start has looked at them.
    """
    of_all = next(iter(GlobalSwitch.objects.raw(SHARED_BY_ALL, [GlobalSwitch.SINGLETON_ID])), None)
    mine = KillSwitch.objects.raw(SHARED_OF_USERS, [list(owners)])
    since = {switch.owner_id: switch.since for switch in mine if switch.since is not None}
    return (of_all.since if of_all else None), since


def require_off(mine: KillSwitch, of_all: GlobalSwitch) -> None:
    """Raises KillSwitchOn, TradingHalted."""
    if mine.since is not None:
        raise KillSwitchOn(reason="kill_switch", since=wire_time(mine.since))
    if of_all.active:
        raise TradingHalted(reason="global_kill_switch", retryAfter=RETRY_SECONDS)
