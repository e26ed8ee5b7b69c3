"""Where the traffic goes: a small clinic with an analyst who has a password and one who has none."""

from __future__ import annotations

import shutil
from pathlib import Path

from dpsql.interfaces.commands import demo_clinic as clinic
from dpsql.server.wire.scram import make_verifier
from tests.fuzz.conversations import LOCKED, PASSWORD


def built(folder: Path) -> Path:
    """The policy of a clinic in ``folder``, which is made where it is not there."""
    folder.mkdir(exist_ok=True)
    clinic.build(folder)
    policy = folder / clinic.POLICY
    text = policy.read_text().replace("epsilon: 10,", "epsilon: 100000,")
    locked = f"analysts:\n  {LOCKED}: {{password: '{make_verifier(PASSWORD)}'}}\n"
    policy.write_text(text.replace("analysts:\n", locked))
    return policy


def copied(policy: Path, folder: Path) -> Path:
    shutil.copytree(policy.parent, folder)
    return folder / policy.name
