"""Pure simulation: no Django, no database."""

import os
from pathlib import Path

# Numba reads both when it is imported.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parent / "__pycache__"))
os.environ.setdefault("NUMBA_CACHE_LOCATOR_CLASSES", "apps.engine.kernel_cache.FolderCacheLocator")
