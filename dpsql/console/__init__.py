"""The console: a web page where analysts ask and owners watch, in any browser."""

from dpsql.console.web_server import Console, console_beside

__all__ = ["Console", "console_beside"]
