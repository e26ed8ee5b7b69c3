"""The scripts of other environments are not imported here."""

collect_ignore_glob = ["client_*.py"]
