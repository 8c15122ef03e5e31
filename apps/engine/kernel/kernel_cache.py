"""The cache of compiled functions, and when Numba compiles them again.

Numba notices changes only in a function's own file, but a kernel also contains functions and
constants from other files. So a function is compiled again when any file of its folder has changed,
and it uses only compiled functions and constants of its own folder
(tests/engine/test_compilation.py).
"""

import re
import shutil
from functools import cache
from hashlib import sha256
from pathlib import Path

import numba
from numba.core.caching import UserProvidedCacheLocator


class FolderCacheLocator(UserProvidedCacheLocator):
    """Numba's locator of NUMBA_CACHE_DIR; NUMBA_CACHE_LOCATOR_CLASSES names this class."""

    def __init__(self, py_func: object, py_file: str) -> None:
        super().__init__(py_func, py_file)  # type: ignore[no-untyped-call]  # Numba left it untyped
        self.folder = Path(py_file).parent

    def get_cache_path(self) -> str:
        """Return a folder for this version: Numba cannot read files stored by others."""
        return str(Path(numba.config.CACHE_DIR) / version_of(self.folder))  # type: ignore[attr-defined]  # set from the environment

    def get_disambiguator(self) -> str:
        return "kernel"  # instead of a line number


def version_of(folder: Path) -> str:
    return f"{folder.name}-{folder_digest(folder)[:16]}"


def remove_old(cache_folder: Path, engine: Path) -> None:
    """Remove files stored by other versions of the engine."""
    current = {version_of(path) for path in engine.rglob("*") if path.is_dir()}
    for path in cache_folder.iterdir():
        if re.fullmatch(r"\w+-[0-9a-f]{16}", path.name) and path.name not in current:
            shutil.rmtree(path, ignore_errors=True)


@cache
def folder_digest(folder: Path) -> str:
    """Hash the Python files of a folder and below it."""
    digest = sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
