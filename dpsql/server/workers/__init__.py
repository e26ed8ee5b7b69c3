"""Several processes behind one port: workers that answer, and a foreman who holds the door and the ledger."""

from dpsql.server.workers.added_figures import AddedFigures
from dpsql.server.workers.calls import StartCall
from dpsql.server.workers.foreman import Foreman
from dpsql.server.workers.nursery import Nursery
from dpsql.server.workers.worker import database_files, work

__all__ = ["AddedFigures", "Foreman", "Nursery", "StartCall", "database_files", "work"]
