"""TPC-H: its data, and its 22 queries as aggregates about people."""
