"""One client's conversation, without input or output of its own."""

from dpsql.server.session.backend import Backend
from dpsql.server.session.catalog_texts import catalog_query
from dpsql.server.session.login import Gate, Peer
from dpsql.server.session.observed import Watch
from dpsql.server.session.protocol import Protocol, Upgrade

__all__ = ["Backend", "Gate", "Peer", "Protocol", "Upgrade", "Watch", "catalog_query"]
