"""Malformed and hostile traffic against the server: ``python -m tests.fuzz --messages 200000``."""
