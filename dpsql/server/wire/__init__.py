"""PostgreSQL's messages, types and encodings: bytes, no sockets."""

from dpsql.server.wire.copy import options
from dpsql.server.wire.messages import Field, error
from dpsql.server.wire.row_encoding import AnswerRows, Formats, ReleasedRows, ShadowRows
from dpsql.server.wire.scram import ITERATIONS, ScramServer, Verifier, make_verifier
from dpsql.server.wire.wire_types import Undecodable, WireType, bounded_text, decode_parameter, field, wire_type

__all__ = [
    "ITERATIONS",
    "AnswerRows",
    "Field",
    "Formats",
    "ReleasedRows",
    "ScramServer",
    "ShadowRows",
    "Undecodable",
    "Verifier",
    "WireType",
    "bounded_text",
    "decode_parameter",
    "error",
    "field",
    "make_verifier",
    "options",
    "wire_type",
]
