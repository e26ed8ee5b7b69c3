"""``python -m tests.bench`` for time on TPC-H, on DuckDB; ``… postgres`` on PostgreSQL; ``… wire`` for the server; ``… accuracy``; ``… ledger``."""

import importlib
import sys

if len(sys.argv) > 1 and sys.argv[1] in ("wire", "postgres", "accuracy", "ledger"):
    importlib.import_module(f".{sys.argv.pop(1)}", __package__).main()
else:
    importlib.import_module(".run", __package__).main()
