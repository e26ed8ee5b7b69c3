"""``python -m tests.audit [--scenarios NAME…] [--samples N] [--engine duckdb|postgres|both] [--quick]``"""

import sys

from tests.audit.audit import main

if __name__ == "__main__":
    sys.exit(any(not one.passed for one in main()))
