"""Studies whose workers are killed give the same bytes as an undisturbed worker."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from django.db import connection
from django.utils import timezone

from apps.accounts.models import User
from apps.backtests import tasks
from apps.backtests.models import Backtest, BacktestKind, BacktestStatus, StudyShard
from apps.backtests.running import shards
from apps.backtests.running.submissions import read_date_range
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.test_shards import result_of
from tests.backtests.workers import never
from tests.faults.random_history import FIRST, LAST, NOW, SYMBOLS, store_random_walks
from tests.faults.workers import working
from tests.processes import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.django_db(transaction=True),
]

SEED: Final = 20261124
KILLS, WORKERS, USERS = 50, 3, 3
# For one shard; with a few more, its study is given up as the cause.
MOST_LOSSES: Final = 3

RECORD: Final = """
CREATE TABLE shard_record (
    writer text DEFAULT current_setting('application_name'),
    backtest text, attempt int, number int, tries int, state text
);
CREATE FUNCTION record_shard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> NEW.state THEN
        INSERT INTO shard_record (backtest, attempt, number, tries, state)
        VALUES (NEW.backtest_id, NEW.attempt, NEW.number, NEW.tries, NEW.state);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER record_shard AFTER UPDATE ON backtests_studyshard
    FOR EACH ROW EXECUTE FUNCTION record_shard();
"""
FORGET_SHARDS: Final = "DROP TABLE shard_record; DROP FUNCTION record_shard CASCADE;"
# Shards that were finished twice, or by another process than the one that began the try.
TWICE: Final = """
SELECT count(*) FROM (
    SELECT FROM shard_record WHERE state = 'done'
    GROUP BY backtest, attempt, number HAVING count(*) > 1
) AS doubled
"""
FOREIGN: Final = """
SELECT count(*) FROM shard_record AS written
JOIN shard_record AS begun USING (backtest, attempt, number, tries)
WHERE written.state = 'done' AND begun.state = 'running' AND written.writer <> begun.writer
"""
HELD: Final = """
SELECT shard.losses FROM backtests_studyshard AS shard
JOIN shard_record AS begun ON begun.backtest = shard.backtest_id AND begun.number = shard.number
    AND begun.attempt = shard.attempt AND begun.tries = shard.tries AND begun.state = 'running'
WHERE shard.state = 'running' AND begun.writer = %s
"""

CROSSINGS: Final = [
    {
        "path": "entryConditions.conditions[0].indicator1.period",
        "from": 3,
        "to": 27,
        "step": 1,
    },
    {"path": "exitConditions.stopLoss.percentage", "from": 0.1, "to": 4, "step": 0.1},
]


def search(sets: int) -> dict[str, object]:
    """Return a search over about this many sets, and about 187,000 bars."""
    fast, stops = CROSSINGS
    # 40 stops of each average; the averages are in steps of 1.
    parameters = [{**fast, "to": 2 + sets // 40}, stops]
    return {"parameters": parameters, "objective": "netProfit", "maxRuns": 10_000}


STUDIES: Final[list[tuple[BacktestKind, dict[str, Any]]]] = [
    (BacktestKind.OPTIMIZATION, {"optimizationConfig": search(2_000)}),
    (
        BacktestKind.WALK_FORWARD,
        {
            "walkForwardConfig": {
                "parameters": search(1_000)["parameters"],
                "objective": "netProfit",
                "windows": 4,
            }
        },
    ),
    (BacktestKind.MONTE_CARLO, {"monteCarloConfig": {"runs": 100_000, "method": "shuffle"}}),
]


def algorithm_of(owner: User) -> str:
    basics = {"strategyType": "momentum", "timeframe": "1m", "symbols": [SYMBOLS[0]]}
    return str(make.algorithm(owner, **make.steps(basicInfo=basics)).pk)


def submit_study(owner: User, algorithm_id: str, study: int) -> Backtest:
    kind, configs = STUDIES[study]
    return submit(
        owner,
        algorithm_id,
        date_range=read_date_range(FIRST, LAST, now=NOW),
        kind=kind,
        configs=configs,
        name=str(study),
        now=timezone.now(),
    )


@contextmanager
def recorded_shards() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(RECORD)
        try:
            yield
        finally:
            cursor.execute(FORGET_SHARDS)
            cursor.execute("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE")


def ask(query: str, *values: str) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        row = cursor.fetchone()
    return None if row is None else int(row[0])


def whole_results(owner: User, algorithm_id: str) -> list[tuple[object, ...]]:
    """Return the undivided result of each study, computed in this process."""
    results = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "SECONDS_ALONE", 1e9)
        for study in range(len(STUDIES)):
            backtest = submit_study(owner, algorithm_id, study)
            tasks.run_next(is_stopping=never)
            results.append(result_of(backtest))
            backtest.delete()
    return results


def unfinished() -> int:
    ended = (BacktestStatus.COMPLETED, BacktestStatus.FAILED)
    return Backtest.objects.exclude(status__in=ended).count()


def test_studies_have_the_same_bytes_though_fifty_workers_are_killed(tmp_path: Path) -> None:
    store_random_walks()
    rng = random.Random(SEED)
    users = [make.user(f"user{number}") for number in range(USERS)]
    algorithms = [algorithm_of(owner) for owner in users]
    expected = whole_results(users[0], algorithms[0])
    hit = divided = killed = 0
    begun = time.monotonic()
    with recorded_shards(), working(WORKERS, tmp_path) as workers:
        while killed < KILLS:
            if unfinished() < 2 * USERS:
                for owner, algorithm_id in zip(users, algorithms, strict=True):
                    submit_study(owner, algorithm_id, rng.randrange(len(STUDIES)))
            time.sleep(rng.uniform(0.2, 2.0))
            divided = max(divided, StudyShard.objects.values("backtest").distinct().count())
            held = {worker.number: ask(HELD, worker.name) for worker in workers}
            allowed = [worker for worker in workers if (held[worker.number] or 0) < MOST_LOSSES]
            busy = [worker for worker in allowed if held[worker.number] is not None]
            if not busy and rng.random() < 0.9:
                continue
            victim = rng.choice(busy or allowed)
            victim.kill()
            victim.start()
            killed += 1
            hit += held[victim.number] is not None
        until(lambda: not unfinished(), seconds=400, every=0.2)
        twice, foreign = ask(TWICE), ask(FOREIGN)
    studies = list(Backtest.objects.all())
    print(
        f"\n{len(studies)} studies by {WORKERS} workers in {time.monotonic() - begun:.0f} s",
        end="; ",
    )
    print(f"{killed} workers killed, {hit} in a shard; {divided} divided at once")
    assert hit > KILLS / 2
    assert divided > 0
    assert (twice, foreign) == (0, 0)
    different = [study.pk for study in studies if result_of(study) != expected[int(study.name)]]
    assert not different
    assert not StudyShard.objects.exists()
