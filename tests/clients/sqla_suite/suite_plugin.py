"""SQLAlchemy's own test plugin, with our dialect registered. Run as a program of its own: it takes pytest over."""

import pytest
from sqlalchemy.dialects import registry

registry.register("dpsql", "dpsql.interfaces.sqlalchemy", "DPSQLDialect")
registry.register("dpsql.dpsql", "dpsql.interfaces.sqlalchemy", "DPSQLDialect")
pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403
