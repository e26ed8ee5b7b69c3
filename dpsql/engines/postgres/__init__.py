"""PostgreSQL as the owner's database."""

from dpsql.engines.postgres.postgres_engine import PostgresEngine

__all__ = ["PostgresEngine"]
