"""How fast and how accurate: TPC-H through the proxy, beside DuckDB alone. Run with ``python -m tests.bench``."""
