"""Engines: the interface of the owner's database, and one folder for each kind."""

from dpsql.engines.data_scan import cut_scan, extent_scan, owned_rows_scan, total_scan, value_scan
from dpsql.engines.deadlines import TICK, Cancellation, Patience, Progress
from dpsql.engines.engine import Engine
from dpsql.engines.engine_kind import PATH, Address, EngineKind, Files, Resources
from dpsql.engines.failures import busy, cancelled
from dpsql.engines.fair_line import FairLine, WaitingPlace
from dpsql.engines.lake_tables import lake_kind
from dpsql.engines.listed_files import KINDS, ListedFiles, WatchedFiles, holds_texts, kind_of
from dpsql.engines.names import PEOPLE, match, match_table, suggestion
from dpsql.engines.own_kinds import FILES, POSTGRESQL, SQLITE
from dpsql.engines.registry import ENGINES
from dpsql.engines.schema import Concern, ForeignKey, Look, Profile, Schema, SchemaColumn, SchemaTable, enumerated
from dpsql.engines.turns import Load, Turn
from dpsql.engines.way_check import Rows, Way, differing_rows_scan

__all__ = [
    "ENGINES",
    "FILES",
    "KINDS",
    "PATH",
    "PEOPLE",
    "POSTGRESQL",
    "SQLITE",
    "TICK",
    "Address",
    "Cancellation",
    "Concern",
    "Engine",
    "EngineKind",
    "FairLine",
    "Files",
    "ForeignKey",
    "ListedFiles",
    "Load",
    "Look",
    "Patience",
    "Profile",
    "Progress",
    "Resources",
    "Rows",
    "Schema",
    "SchemaColumn",
    "SchemaTable",
    "Turn",
    "WaitingPlace",
    "WatchedFiles",
    "Way",
    "busy",
    "cancelled",
    "cut_scan",
    "differing_rows_scan",
    "enumerated",
    "extent_scan",
    "holds_texts",
    "kind_of",
    "lake_kind",
    "match",
    "match_table",
    "owned_rows_scan",
    "suggestion",
    "total_scan",
    "value_scan",
]
