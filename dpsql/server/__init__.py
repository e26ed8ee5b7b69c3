"""The PostgreSQL server: sockets here, everything else in rooms without input or output of their own."""
