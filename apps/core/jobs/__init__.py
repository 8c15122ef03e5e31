"""The job queue, the quiet start that postpones jobs, and the purge of old rows."""

from apps.core.jobs.job_queue import (
    JobState,
    count_unfinished,
    counts,
    enqueue,
    enqueue_once,
    put_back_lost,
    waiting,
)
from apps.core.jobs.quiet_start import IS_QUIET, end_quiet_start, is_quiet, postpones
from apps.core.jobs.retention import purge

__all__ = [
    "IS_QUIET",
    "JobState",
    "count_unfinished",
    "counts",
    "end_quiet_start",
    "enqueue",
    "enqueue_once",
    "is_quiet",
    "postpones",
    "purge",
    "put_back_lost",
    "waiting",
]
