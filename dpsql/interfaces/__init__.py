"""How people and programs reach dpsql in this process: PEP 249, SQLAlchemy and the command line."""
