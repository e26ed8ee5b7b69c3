"""``python -m tests.audit.serve_planted BUG serve POLICY …``: the command line with one bug planted in it."""

import sys

import pytest

from dpsql.interfaces.commands.commands import main
from tests.audit.planted import BUGS

if __name__ == "__main__":
    BUGS[sys.argv[1]].plant(pytest.MonkeyPatch())
    sys.exit(main(sys.argv[2:]))
