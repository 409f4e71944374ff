import threading
from pathlib import Path

import pytest

from mmeval.doctor import network
from mmeval.doctor.network import HubProbe
from tests.support.fake_hub import FakeHub

SECRET = "s3cr3t-0123456789"
NO_HUB = {"HF_ENDPOINT": "http://127.0.0.1:9"}


def reached(**environ: str) -> tuple[str, str]:
    (found,) = HubProbe(environ).reachability()
    return found.status, found.what


def test_a_hub_that_answers_is_reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "DEADLINE", 3600.0)
    monkeypatch.setenv("NO_PROXY", "*")
    with FakeHub() as hub:
        status, what = reached(HF_ENDPOINT=hub.url)
    assert (status, hub.url in what, reached(**NO_HUB)[0]) == ("ok", True, "note")
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
        status, what = reached(**{name: "true"}, **NO_HUB)
        assert (status, "not asked" in what, name in what) == ("note", True, True)

    answered = threading.Event()
    monkeypatch.setattr(network, "DEADLINE", 0.0)
    monkeypatch.setattr(HubProbe, "_ask", lambda self: answered.wait())
    status, what = reached(**NO_HUB)
    answered.set()
    assert (status, "no answer" in what) == ("note", True)


def test_a_token_is_found_in_the_environment_or_in_its_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(SECRET)
    places = (
        {"HF_HOME": str(tmp_path)},
        {"HF_TOKEN_PATH": str(tmp_path / "token")},
        {"HF_HOME": str(tmp_path / "no")},
    )
    found = [
        next(network.token(environ)) for environ in ({"HF_TOKEN": SECRET}, *places)
    ]
    assert [one.status for one in found] == ["ok", "ok", "ok", "note"]
    assert not any(SECRET in one.what for one in found)


def test_keys_and_proxies_are_named_without_their_secrets() -> None:
    environ = {
        "OPENAI_API_KEY": SECRET,
        "X_KEY": "y",
        "A_API_KEY": "",
        "OPENAI_BASE_URL": f"http://{SECRET}@h:8/v1",
    }
    assert [one.what.rpartition(" ")[2] for one in network.keys(environ)] == [
        "OPENAI_API_KEY",
        "h:8",
    ]
    assert [one.status for one in (*network.keys({}), *network.proxies({}))] == [
        "note",
        "ok",
    ]
    named = {
        "HTTPS_PROXY": f"http://user:{SECRET}@proxy:3128",
        "http_proxy": "plain",
        "ALL_PROXY": "http://[x",
    }
    (proxies,) = network.proxies({**named, "NO_PROXY": "*"})
    assert all(
        part in proxies.what
        for part in ("HTTPS_PROXY proxy:3128", "HTTP_PROXY plain", "NO_PROXY *")
    )
    assert SECRET not in proxies.what
