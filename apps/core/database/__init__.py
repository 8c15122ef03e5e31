"""Work with the database: ids, statuses, rows, its clock, its errors, encryption at rest."""

from apps.core.database.batches import delete_in_batches
from apps.core.database.encryption import (
    DecryptionFailed,
    decrypt,
    encrypt,
    is_of_current_key,
    key_fingerprint,
)
from apps.core.database.failures import Meaning, is_passing, meaning_of
from apps.core.database.ids import NEW_ID, IdField, is_id
from apps.core.database.rows import columns_of, instance_of
from apps.core.database.server_clock import (
    CLOCK_QUERY,
    compare_clocks,
    is_far_off,
    machine_clock,
    now,
    read_clock,
)
from apps.core.database.transitions import StatusQuerySet, Transition

__all__ = [
    "CLOCK_QUERY",
    "NEW_ID",
    "DecryptionFailed",
    "IdField",
    "Meaning",
    "StatusQuerySet",
    "Transition",
    "columns_of",
    "compare_clocks",
    "decrypt",
    "delete_in_batches",
    "encrypt",
    "instance_of",
    "is_far_off",
    "is_id",
    "is_of_current_key",
    "is_passing",
    "key_fingerprint",
    "machine_clock",
    "meaning_of",
    "now",
    "read_clock",
]
