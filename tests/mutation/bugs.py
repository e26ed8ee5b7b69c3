"""All planted bugs, by where they are."""

from __future__ import annotations

from tests.mutation import (
    bugs_answers,
    bugs_blocks,
    bugs_console,
    bugs_in_vain,
    bugs_ledger,
    bugs_mechanisms,
    bugs_policy,
    bugs_presence,
    bugs_randomized,
    bugs_relations,
    bugs_replay,
    bugs_rewriter,
    bugs_server,
    bugs_spark,
    bugs_stages,
    bugs_workers,
)
from tests.mutation.bug import Bug

AREAS: dict[str, tuple[Bug, ...]] = {
    "rewriter": bugs_rewriter.BUGS,
    "blocks": bugs_blocks.BUGS,
    "randomized": bugs_randomized.BUGS,
    "relations": bugs_relations.BUGS,
    "stages": bugs_stages.BUGS,
    "mechanisms": bugs_mechanisms.BUGS,
    "policy": bugs_policy.BUGS,
    "presence": bugs_presence.BUGS,
    "replay": bugs_replay.BUGS,
    "ledger": bugs_ledger.BUGS,
    "answers": bugs_answers.BUGS + bugs_in_vain.BUGS,
    "console": bugs_console.BUGS,
    "spark": bugs_spark.BUGS,
    "server": bugs_server.BUGS + bugs_workers.BUGS,
}
BUGS: tuple[Bug, ...] = tuple(bug for bugs in AREAS.values() for bug in bugs)
