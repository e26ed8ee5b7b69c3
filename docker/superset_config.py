"""Superset as the dashboard of a differentially private database: its own state in one SQLite file."""

import os

SECRET_KEY = os.environ["SUPERSET_SECRET_KEY"]
SQLALCHEMY_DATABASE_URI = f"sqlite:///{os.environ['SUPERSET_HOME']}/superset.db?check_same_thread=false"

# dpsql keeps what it released and repeats it for free: a second cache would only hide when the data has changed.
DATA_CACHE_CONFIG = {"CACHE_TYPE": "NullCache"}

# Rows of people are refused, so the menu does not offer them.
FEATURE_FLAGS = {"DRILL_TO_DETAIL": False}
