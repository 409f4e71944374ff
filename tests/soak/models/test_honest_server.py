"""Complete handshakes with an honest server, two hundred times."""

import pytest

from mmeval.run.backends import Backends
from mmeval.run.handshakes import complete_handshakes
from mmeval.run.options import BackendSpec
from tests.support.able_server import Abilities, AbleServer
from tests.support.cli import KEY

RUNS = 200
CAPABLE = {
    "model": "m",
    "inputs": "text+image+audio+document+video",
    "outputs": "text+image",
}


def test_two_hundred_handshakes_with_an_honest_server_raise_no_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    alarms: list[object] = []
    with AbleServer(Abilities(draws=True)) as server:
        spec = BackendSpec("openai", {**CAPABLE, "base_url": server.url})
        for _ in range(RUNS):
            probes = complete_handshakes(Backends({"model": spec}), ["model"])["model"]
            assert isinstance(probes, list)
            alarms += [probe for probe in probes if probe.verdict != "yes"]

    assert alarms == []
