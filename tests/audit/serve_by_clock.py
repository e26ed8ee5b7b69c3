"""``python -m tests.audit.serve_by_clock FILE serve POLICY …``: the command line by the clock in a file."""

import sys
from pathlib import Path

import pytest

from dpsql.interfaces.commands.commands import main
from tests.properties.clock_file import ClockFile

if __name__ == "__main__":
    ClockFile(Path(sys.argv[1])).install(pytest.MonkeyPatch())
    sys.exit(main(sys.argv[2:]))
