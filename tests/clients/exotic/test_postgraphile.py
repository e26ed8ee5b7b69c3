"""PostGraphile 4 as npm brings it, over the served clinic: counts and public rows are answered, rows of people refused."""

from __future__ import annotations

import json
import subprocess

import pytest

from dpsql.interfaces.commands import demo_clinic as clinic
from tests.clients.exotic.test_exotic import HERE, Client, install
from tests.clients.served import Served

pytestmark = pytest.mark.clients
POPULATIONS = {name: population for name, _, population, *_ in clinic.REGIONS}
PATIENTS = 10_000
NEAR = 60


def test_postgraphile_4_is_answered(server: Served) -> None:
    command = ("node", str(HERE / "ask_postgraphile.js"))
    environment = install(Client("postgraphile", ("nodejs", "npm"), command, npm=("postgraphile@4",)))
    done = subprocess.run(
        [*command, server.host, str(server.port)], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = {name: json.loads(told) for name, _, told in (line.partition(" ") for line in done.stdout.splitlines())}
    print("postgraphile", said["version"])
    assert abs(said["total"]["allPatients"]["totalCount"] - PATIENTS) < NEAR
    assert abs(said["filtered"]["allPatients"]["totalCount"] - 5170) < NEAR
    regions = said["regions"]["allRegions"]
    assert regions["totalCount"] == len(POPULATIONS)
    assert {row["name"]: row["population"] for row in regions["nodes"]} == POPULATIONS
    assert abs(sum(row["patientsByRegion"]["totalCount"] for row in regions["nodes"]) - PATIENTS) < NEAR
    largest = sorted(POPULATIONS, key=lambda name: -POPULATIONS[name])[:2]
    page = said["page"]["allRegions"]
    assert ([row["name"] for row in page["nodes"]], page["pageInfo"]["hasNextPage"]) == (largest, True)
    assert said["one"]["regionByName"]["population"] == POPULATIONS["Hesse"]
    for name in ("nodes", "person", "parent"):
        assert said[name] == ["a document of values of one person is a row of people"], name
