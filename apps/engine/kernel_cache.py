"""Where Numba keeps compiled functions, and when it compiles them again.

Numba notices a change in a function's own file alone, but a kernel also contains the functions and
constants that it uses from other files. So a function is compiled again when any file of its folder
has changed, and uses compiled functions and constants of its own folder only
(tests/engine/test_compilation.py).
"""

from functools import cache
from hashlib import sha256
from pathlib import Path

from numba.core.caching import UserProvidedCacheLocator


class FolderCacheLocator(UserProvidedCacheLocator):
    """Numba's locator of NUMBA_CACHE_DIR; NUMBA_CACHE_LOCATOR_CLASSES names this class."""

    def __init__(self, py_func: object, py_file: str) -> None:
        super().__init__(py_func, py_file)  # type: ignore[no-untyped-call]  # Numba left it untyped
        self.folder = Path(py_file).parent

    def get_source_stamp(self) -> str:
        return digest_of(self.folder)

    def get_disambiguator(self) -> str:
        """Return the same for every version of a function, whose file is then replaced."""
        return "kernel"


@cache
def digest_of(folder: Path) -> str:
    """Hash the Python files of a folder and below it."""
    digest = sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
