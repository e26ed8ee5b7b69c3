"""What a session answers with over tables that a test has made."""

from __future__ import annotations

from dpsql.answer import Asked, Released
from dpsql.engines import Patience
from dpsql.proxy import Session
from dpsql.reply import Answer
from dpsql.stages import Before


def finished(session: Session, released: Released) -> Answer:
    """The answer over released tables, under the session's settings."""
    answering = session._proxy.answering
    asked = Asked(released.settled.prepared, session.analyst, session.settings, Patience.of(60))
    return answering.reply(asked, released, answering.finished(asked, released), session.budget, Before())
