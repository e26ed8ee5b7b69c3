"""``python -m dpsql`` is ``dpsql``."""

import sys

from dpsql.interfaces.commands import main

sys.exit(main())
