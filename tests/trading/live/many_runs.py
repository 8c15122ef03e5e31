"""Very many running algorithms, inserted by few statements."""

from collections.abc import Sequence
from typing import Any

from apps.accounts.models import User
from apps.algorithms.lifecycle import AlgorithmStatus
from apps.algorithms.models import Algorithm
from apps.engine.kernel.records import instrument_ids, new_state
from apps.engine.kernel.saved import save
from apps.trading.models import Account, Run, RunState
from apps.trading.runs import kill_switches
from tests import make

CAPITAL = 100_000


def make_runs(
    owners: Sequence[User], configurations: Sequence[dict[str, Any]], *, since: int
) -> list[Run]:
    """Make a run of each configuration, for the owners in turn; their accounts hold the reserved
    capital.
    """
    algorithms = [
        Algorithm(
            owner=owners[n % len(owners)],
            name=f"Algorithm {n}",
            status=AlgorithmStatus.ACTIVE,
            active=True,
            number=n + 1,
            created_at=make.NOW,
            updated_at=make.NOW,
            performance_at=make.NOW,
        )
        for n in range(len(configurations))
    ]
    Algorithm.objects.bulk_create(algorithms, batch_size=1000)
    runs_of_owner = -(-len(configurations) // len(owners))
    accounts = [
        Account(
            owner=owner,
            balance=runs_of_owner * CAPITAL,
            reserved=runs_of_owner * CAPITAL,
            opened_at=make.NOW,
        )
        for owner in owners
    ]
    Account.objects.bulk_create(accounts)
    for owner in owners:
        kill_switches.share_user_switch(owner)
    runs = [
        Run(
            algorithm=algorithm,
            account_id=algorithm.owner_id,
            algorithm_version=1,
            configuration=configuration,
            mode="paper",
            capital=CAPITAL,
            started_at=make.NOW,
        )
        for algorithm, configuration in zip(algorithms, configurations, strict=True)
    ]
    Run.objects.bulk_create(runs, batch_size=1000)
    RunState.objects.bulk_create(
        [
            RunState(
                run=run,
                data=save(
                    new_state(
                        instrument_ids(run.configuration["basicInfo"]["symbols"]), cash=CAPITAL
                    )
                ),
                since=since,
                equity=CAPITAL,
                peak=CAPITAL,
            )
            for run in runs
        ],
        batch_size=1000,
    )
    return runs
