"""``python -m tests.golden.update`` writes what the rewriter makes of every golden query; read the difference."""

from __future__ import annotations

from tests.golden.pairs import clinic, pairs

if __name__ == "__main__":
    known = clinic()
    for pair in pairs():
        pair.write(known)
