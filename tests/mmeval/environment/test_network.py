import threading

import pytest

from mmeval.environment import network
from mmeval.environment.network import HubProbe
from mmeval.findings.finding import Finding
from tests.support.servers import FakeHub

NO_HUB = {"HF_ENDPOINT": "http://127.0.0.1:9"}


def reached(**environ: str) -> list[Finding]:
    return list(HubProbe(environ).reachability())


def test_a_hub_that_answers_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "DEADLINE", 3600.0)
    monkeypatch.setenv("NO_PROXY", "*")
    with FakeHub() as hub:
        assert reached(HF_ENDPOINT=hub.url) == []


def test_a_hub_that_does_not_answer_is_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    (refused,) = reached(**NO_HUB)
    answered = threading.Event()
    monkeypatch.setattr(network, "DEADLINE", 0.0)
    monkeypatch.setattr(HubProbe, "_ask", lambda self: answered.wait())
    (silent,) = reached(**NO_HUB)
    answered.set()
    assert [one.severity for one in (refused, silent)] == ["note", "note"]
    assert "no answer" in silent.cause


@pytest.mark.parametrize(
    "name", ["HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"]
)
def test_a_hub_that_may_not_be_asked_is_not(name: str) -> None:
    assert reached(**{name: "true"}, **NO_HUB) == []
