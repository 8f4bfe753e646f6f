"""`python -m mnemoscope`: the same as the command `mnemoscope`."""

import sys

from mnemoscope.cli import main

if __name__ == "__main__":
    sys.exit(main())
