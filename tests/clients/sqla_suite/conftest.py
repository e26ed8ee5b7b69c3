"""The suite takes pytest over, so it runs in a process of its own (test_sqlalchemy_suite.py): here nothing is collected."""

import sys

collect_ignore_glob = [] if "suite_plugin" in sys.modules else ["*.py"]
