"""``python -m tests.bench`` for TPC-H on DuckDB, ``… wire`` for the server, ``… postgres`` for TPC-H on PostgreSQL."""

import importlib
import sys

if len(sys.argv) > 1 and sys.argv[1] in ("wire", "postgres"):
    importlib.import_module(f".{sys.argv.pop(1)}", __package__).main()
else:
    importlib.import_module(".run", __package__).main()
