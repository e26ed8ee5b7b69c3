"""Serves pgAdmin 4 as on a desktop, all of its files in one folder. Arguments: the folder, a port of loopback."""

import builtins
import importlib.util
import sys
from pathlib import Path

folder, port = Path(sys.argv[1]), int(sys.argv[2])
found = importlib.util.find_spec("pgadmin4")
sys.path.insert(0, next(iter(found.submodule_search_locations)))
builtins.SERVER_MODE = False

import config  # noqa: E402

config.DATA_DIR = str(folder)
config.LOG_FILE = str(folder / "pgadmin.log")
config.SQLITE_PATH = str(folder / "pgadmin.sqlite")
config.SESSION_DB_PATH = str(folder / "sessions")
config.STORAGE_DIR = str(folder / "storage")
config.AZURE_CREDENTIAL_CACHE_DIR = str(folder / "azure")
config.KERBEROS_CCACHE_DIR = str(folder / "kerberos")
config.DEFAULT_SERVER, config.DEFAULT_SERVER_PORT = "127.0.0.1", port
config.MASTER_PASSWORD_REQUIRED = config.USE_OS_SECRET_STORAGE = config.UPGRADE_CHECK_ENABLED = False

import pgAdmin4  # noqa: E402

pgAdmin4.main()
