"""Splits and bonuses: bringing them in, and looking for those that are not known yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from apps.market import store
from apps.market.importers.corporate_actions import ActionRow
from apps.market.models import CorporateAction
from apps.market.rulebook.dates import day_number
from apps.market.suggestions import SplitCandidate, find_split_candidates


@dataclass(frozen=True, slots=True)
class ActionCounts:
    added: int
    changed: int
    unchanged: int


@transaction.atomic
def load(*, rows: Sequence[ActionRow], now: datetime) -> ActionCounts:
    """Keep each; of two of a kind on one day of one symbol the newer counts."""
    found = {
        (row.symbol, row.ex_date, row.kind): CorporateAction(
            symbol=row.symbol,
            ex_date=row.ex_date,
            kind=row.kind,
            shares_before=row.before,
            shares_after=row.after,
            source=row.source,
            loaded_at=now,
        )
        for row in rows
    }
    held = {
        (each.symbol, each.ex_date, each.kind): each
        for each in CorporateAction.objects.filter(symbol__in={row.symbol for row in rows})
    }
    added = [key for key in found if key not in held]
    changed = [key for key in found if key in held and _differ(found[key], held[key])]
    CorporateAction.objects.bulk_create(
        [found[key] for key in added + changed],
        update_conflicts=True,
        unique_fields=["symbol", "ex_date", "kind"],
        update_fields=["shares_before", "shares_after", "source", "loaded_at"],
    )
    return ActionCounts(len(added), len(changed), len(found) - len(added) - len(changed))


def _differ(one: CorporateAction, other: CorporateAction) -> bool:
    names = ("shares_before", "shares_after", "source")
    return any(getattr(one, name) != getattr(other, name) for name in names)


def unknown_splits(symbol: str) -> list[SplitCandidate]:
    """Days on which the stored bars of a share look like a split that is not known."""
    known = {
        day_number(day)
        for day in CorporateAction.objects.filter(symbol=symbol).values_list("ex_date", flat=True)
    }
    days = store.read(symbol, "1d", start=0, end=2**40)
    return [each for each in find_split_candidates(days) if each.day not in known]
