"""What a worker and the foreman say to each other: plain values, one class for each kind of call."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client.core import Metric

from dpsql.ledger import Charge
from rewriter.declared import Catalog

# From the foreman to a worker.


@dataclass(frozen=True, slots=True)
class StartCall:
    """Begin to serve; answered when connections are accepted, or with the reason why not.

    ``catalog`` is the policy as the foreman compared it with the database, whose files are ``database``: where it
    is files, by what each of them is known. ``shadow`` is the address of the shadow's server.
    """

    catalog: Catalog
    database: tuple[tuple[int, ...], ...] | None
    shadow: str


@dataclass(frozen=True, slots=True)
class StopCall:
    """End, once what runs has ended or the grace is over; a second time, without waiting."""


@dataclass(frozen=True, slots=True)
class ReopenCall:
    """Go on with the audit in a file of the same name."""


@dataclass(frozen=True, slots=True)
class HealthCall:
    """Answered where the worker's loop goes round."""


@dataclass(frozen=True, slots=True)
class ReportCall:
    """Answered with a :class:`Report`."""


@dataclass(frozen=True, slots=True)
class Report:
    """How a worker is: its figures, why it would not answer an analyst now, and the statements that run in it."""

    figures: tuple[Metric, ...]
    problems: tuple[str, ...]
    running: int


# From a worker to the foreman.


@dataclass(frozen=True, slots=True)
class ChargeCall:
    """Charge one analyst; answered when the charges are durable, or with the reason why they were not made."""

    charges: tuple[Charge, ...]


@dataclass(frozen=True, slots=True)
class LoginCall:
    """An analyst wants to come in by a connection; answered with whether there are too many of them."""

    number: int
    analyst: str


@dataclass(frozen=True, slots=True)
class EndedCall:
    """A connection is over."""

    number: int


# In both directions.


@dataclass(frozen=True, slots=True)
class CancelOwnCall:
    """Cancel what runs on a connection of an analyst; the foreman answers whether it is that analyst's."""

    number: int
    analyst: str


@dataclass(frozen=True, slots=True)
class CancelCall:
    """Cancel what runs on a connection, for who knows its secret."""

    number: int
    secret: bytes
