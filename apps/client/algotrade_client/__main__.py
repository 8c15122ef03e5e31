"""`python -m algotrade_client`: the command line without its script."""

import sys

from .command_line import main

if __name__ == "__main__":
    sys.exit(main())
