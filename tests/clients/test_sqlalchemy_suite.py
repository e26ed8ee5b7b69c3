"""The reading part of SQLAlchemy's own dialect suite, in a process of its own, because its plugin takes pytest over."""

import os
import re
import subprocess
import sys
from pathlib import Path

SUITE = Path(__file__).parent / "sqla_suite"
EMPTY = "from pathlib import Path; import preloaded, sys; print(preloaded.policy(Path(sys.argv[1])))"


def test_the_reading_part_of_sqlalchemys_suite_passes(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SUITE), "PYTEST_ADDOPTS": ""}
    made = subprocess.run(
        [sys.executable, "-c", EMPTY, str(tmp_path)], capture_output=True, text=True, check=True, env=environment
    )
    options = "-q -p suite_plugin -p no:cacheprovider -c setup.cfg --rootdir .".split()
    given = ["--dburi", made.stdout.strip(), "--requirements", "requirements:Requirements", "test_reading.py"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *given],
        capture_output=True,
        text=True,
        cwd=SUITE,
        env=environment,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed is not None
    assert int(passed[1]) >= 75, "the suite ran fewer tests than it did when this was written"
