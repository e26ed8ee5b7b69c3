"""The promise, measured from outside: what an analyst receives over the wire, on worlds with a person and without."""
