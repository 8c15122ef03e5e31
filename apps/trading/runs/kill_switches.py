"""The kill switches, and the order of concurrent starts and switches.

A start shares the lock of the switches' rows until it commits; engaging a switch takes an exclusive
lock. So engaging it pauses all earlier starts, and later starts see that the switch is on.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

from django.db import transaction

from apps.accounts.models import User
from apps.algorithms.models import Algorithm, AlgorithmStatus, AlgorithmTransition
from apps.core import audit, jobs
from apps.core.audit import Action
from apps.core.errors import Code, ServiceError
from apps.core.times import wire_time
from apps.trading.models import GlobalSwitch, KillSwitch, Run, queries
from apps.trading.runs.status_changes import apply_change

# Operators stop everybody for minutes, not for seconds.
_RETRY_SECONDS: Final = 60


class KillSwitchOn(ServiceError):
    """The caller's own switch is on; turning it off is enough."""

    code = Code.FORBIDDEN
    message = "Your kill switch is on since {since}; turn it off to start or resume."


class TradingHalted(ServiceError):
    """The operators' switch is on, or a restored copy is still in its quiet start."""

    code = Code.SERVICE_UNAVAILABLE
    message = "Trading is halted for everybody just now; please try again later."


class GlobalSwitchOff(ServiceError):
    """The operators' switch is already off."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The global kill switch is off already."


def share_user_switch(owner: User) -> KillSwitch:
    """Return the owner's switch, locked against changes until the transaction ends."""
    rows = list(KillSwitch.objects.raw(queries.SHARE_USER_SWITCHES, [[owner.pk]]))
    if not rows:
        KillSwitch.objects.bulk_create([KillSwitch(owner=owner)], ignore_conflicts=True)
        rows = list(KillSwitch.objects.raw(queries.SHARE_USER_SWITCHES, [[owner.pk]]))
    return rows[0]


def share_global_switch() -> GlobalSwitch:
    """Return the operators' switch, locked against changes until the transaction ends."""
    key = [GlobalSwitch.SINGLETON_ID]
    rows = list(GlobalSwitch.objects.raw(queries.SHARE_GLOBAL_SWITCH, key))
    if not rows:
        GlobalSwitch.objects.bulk_create([GlobalSwitch()], ignore_conflicts=True)
        rows = list(GlobalSwitch.objects.raw(queries.SHARE_GLOBAL_SWITCH, key))
    return rows[0]


def share_engaged_since(owners: Collection[str]) -> tuple[datetime | None, Mapping[str, datetime]]:
    """Return the time since when trading is stopped for everybody, and the times for stopped
    owners.

    Both are locked against changes until the transaction ends. The rows exist, because every start
    has read them.
    """
    key = [GlobalSwitch.SINGLETON_ID]
    of_all = next(iter(GlobalSwitch.objects.raw(queries.SHARE_GLOBAL_SWITCH, key)), None)
    of_users = KillSwitch.objects.raw(queries.SHARE_USER_SWITCHES, [list(owners)])
    since = {switch.owner_id: switch.since for switch in of_users if switch.since is not None}
    return (of_all.since if of_all else None), since


def lock_user_switch(owner: User) -> KillSwitch:
    """Lock the owner's switch: starts under way finish first, later ones wait."""
    KillSwitch.objects.bulk_create([KillSwitch(owner=owner)], ignore_conflicts=True)
    return KillSwitch.objects.select_for_update().get(owner=owner)


def lock_global_switch() -> GlobalSwitch:
    """Lock the operators' switch: starts under way finish first, later ones wait."""
    GlobalSwitch.objects.bulk_create([GlobalSwitch()], ignore_conflicts=True)
    return GlobalSwitch.objects.select_for_update().get(pk=GlobalSwitch.SINGLETON_ID)


def require_off(of_user: KillSwitch, of_all: GlobalSwitch) -> None:
    """Raises KillSwitchOn, TradingHalted."""
    if of_user.since is not None:
        raise KillSwitchOn(reason="kill_switch", since=wire_time(of_user.since))
    if of_all.active:
        raise TradingHalted(reason="global_kill_switch", retryAfter=_RETRY_SECONDS)
    if jobs.is_quiet():
        raise TradingHalted(reason="quiet_start", retryAfter=_RETRY_SECONDS)


def read_switch(*, owner: User) -> KillSwitch:
    """Return the owner's switch; off if it was never used."""
    return KillSwitch.objects.filter(owner=owner).first() or KillSwitch(owner=owner)


@transaction.atomic
def engage_kill_switch(
    *,
    owner: User,
    reason: str,
    close_positions: bool,
    now: datetime,
    operator: audit.Actor | None = None,
) -> KillSwitch:
    """Turn the owner's switch on, and pause all active algorithms.

    With `close_positions` the close of all positions is requested too. A switch that is on keeps
    its reason and time; each use is audited. `operator` is the operator who acts for the owner.
    """
    switch = lock_user_switch(owner)
    if not switch.active:
        switch.turn_on(reason=reason, now=now)
        switch.save()
    audit.record(
        Action.KILL_SWITCH_ON,
        switch,
        actor=operator or audit.user(owner),
        now=now,
        reason=reason,
        closePositions=close_positions,
    )
    actor = None if operator else owner
    active = Algorithm.objects.owned_by(owner).filter(status=AlgorithmStatus.ACTIVE)
    for algorithm in list(active.order_by("pk").locked()):
        run = algorithm.runs.live().first()
        apply_change(
            AlgorithmTransition.PAUSE,
            algorithm,
            run=run,
            actor=actor,
            reason="kill switch",
            now=now,
        )
    if close_positions:
        holding = Run.objects.holding().filter(account__owner=owner, close_requested_at=None)
        holding.update(close_requested_at=now)
    return switch


@transaction.atomic
def release_kill_switch(*, owner: User, now: datetime) -> KillSwitch:
    """Turn the owner's switch off. Paused algorithms stay paused."""
    switch = lock_user_switch(owner)
    if switch.active:
        audit.record(Action.KILL_SWITCH_OFF, switch, actor=audit.user(owner), now=now)
        switch.turn_off()
        switch.save()
    return switch


@transaction.atomic
def read_global_switch() -> GlobalSwitch:
    """Return the operators' switch, created on first use."""
    return share_global_switch()


@transaction.atomic
def engage_global_switch(*, operator: audit.Actor, reason: str, now: datetime) -> GlobalSwitch:
    """Stop all starts, resumes and entries of all users until `release_global_switch`.

    Statuses stay, so everything continues afterwards. A switch that is on keeps its reason and
    time; each use is audited.
    """
    switch = lock_global_switch()
    if not switch.active:
        switch.turn_on(reason=reason, now=now)
        switch.save()
    audit.record(Action.KILL_SWITCH_ON, switch, actor=operator, now=now, reason=reason)
    return switch


@transaction.atomic
def release_global_switch(*, operator: audit.Actor, reason: str, now: datetime) -> GlobalSwitch:
    """Let everybody trade again. Raises GlobalSwitchOff."""
    switch = lock_global_switch()
    if not switch.active:
        raise GlobalSwitchOff
    switch.turn_off()
    switch.save()
    audit.record(Action.KILL_SWITCH_OFF, switch, actor=operator, now=now, reason=reason)
    return switch
