from tests.engines.postgres_server import postgres as postgres
