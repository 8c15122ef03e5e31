"""The disk of the embedded database: whether there is room left to write."""

import shutil
from functools import cache
from pathlib import Path

from django.conf import settings


def is_disk_nearly_full() -> bool:
    """Return whether free space is below the reserve; always False for an external database."""
    reserve: int = settings.DISK_RESERVE
    return reserve > 0 and free_disk_bytes() < reserve


def free_disk_bytes() -> int:
    return shutil.disk_usage(_data_folder()).free


@cache
def _data_folder() -> Path:
    """Return the folder of the data; DATA_DIR may contain a link to it."""
    linked = (path for path in settings.DATA_DIR.glob("pg[0-9]*") if path.is_symlink())
    return next(linked, settings.DATA_DIR).resolve()
