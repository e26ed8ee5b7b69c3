"""The border that errors cross: what the rewriter refuses becomes a DB-API error, and a bug of ours says nothing."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from dpsql.errors import Error, InternalError, error
from rewriter.refused import TOO_COMPLEX, Refused

_LOG = logging.getLogger("dpsql")
_P = ParamSpec("_P")
_R = TypeVar("_R")


def translated(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let only :class:`dpsql.errors.Error` through.

    Anything unforeseen becomes one fixed text, since the text of an exception can hold a private value; the owner's log
    has its class and where it was raised.
    """

    @functools.wraps(function)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except Error:
            raise
        except Refused as refused:
            raise error(
                refused.message, sqlstate=refused.sqlstate, hint=refused.hint, position=refused.position
            ) from None
        except RecursionError:
            raise error("the query is nested too deeply", sqlstate=TOO_COMPLEX, hint="use WITH or IN lists") from None
        except Exception as unforeseen:
            _LOG.error("internal error: %s at %s", type(unforeseen).__name__, raised_at(unforeseen))
            raise InternalError("internal error; the owner's log names the place", sqlstate="XX000") from None

    return wrapper


def raised_at(unforeseen: BaseException) -> str:
    """The file and line that an exception comes from: it says nothing of a row."""
    traceback = unforeseen.__traceback__
    place = "?"
    while traceback is not None:
        place = f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place
