"""The command line."""

from dpsql.interfaces.commands.commands import main

__all__ = ["main"]
