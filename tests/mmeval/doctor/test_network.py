import threading
from pathlib import Path

import pytest

from mmeval.doctor import network
from mmeval.doctor.network import HubProbe
from tests.support.fake_hub import FakeHub

SECRET = "s3cr3t-0123456789"


def reached(**environ: str) -> tuple[str, str]:
    (found,) = HubProbe(environ).reachability()
    return found.status, found.what


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "DEADLINE", 3600.0)
    monkeypatch.setenv("NO_PROXY", "*")


def test_a_hub_that_answers_is_reachable_and_one_that_refuses_is_not() -> None:
    with FakeHub() as hub:
        status, what = reached(HF_ENDPOINT=hub.url)
    assert (status, hub.url in what) == ("ok", True)
    assert reached(HF_ENDPOINT="http://127.0.0.1:9")[0] == "note"


def test_an_answer_is_waited_for_until_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    monkeypatch.setattr(network, "DEADLINE", 0.0)
    monkeypatch.setattr(HubProbe, "_ask", lambda self: answered.wait())
    status, what = reached(HF_ENDPOINT="http://127.0.0.1:9")
    answered.set()
    assert (status, "no answer" in what) == ("note", True)


@pytest.mark.parametrize("name", ["HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_a_hub_is_not_asked_where_a_variable_forbids_it(name: str) -> None:
    status, what = reached(**{name: "true", "HF_ENDPOINT": "http://127.0.0.1:9"})
    assert (status, "not asked" in what, name in what) == ("note", True, True)


def test_a_token_is_found_in_the_environment_or_in_its_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(SECRET)
    found = [next(network.token(environ)) for environ in (
        {"HF_TOKEN": SECRET}, {"HF_HOME": str(tmp_path)}, {"HF_TOKEN_PATH": str(tmp_path / "token")},
        {"HF_HOME": str(tmp_path / "gone")},
    )]  # fmt: skip
    assert [one.status for one in found] == ["ok", "ok", "ok", "note"]
    assert not any(SECRET in one.what for one in found)


def test_keys_and_proxies_are_named_without_their_secrets() -> None:
    keys = list(
        network.keys(
            {"OPENAI_API_KEY": SECRET, "X_KEY": "y", "A_API_KEY": "", "OPENAI_BASE_URL": f"http://{SECRET}@h:8/v1"}
        )
    )
    assert [one.what.rpartition(" ")[2] for one in keys] == ["OPENAI_API_KEY", "h:8"]
    assert [one.status for one in network.keys({})] == ["note"]

    environ = {
        "HTTPS_PROXY": f"http://user:{SECRET}@proxy:3128",
        "http_proxy": "plain",
        "NO_PROXY": "*",
        "ALL_PROXY": "http://[x",
    }
    (proxies,) = network.proxies(environ)
    for part in ("HTTPS_PROXY proxy:3128", "HTTP_PROXY plain", "NO_PROXY *"):
        assert part in proxies.what
    assert SECRET not in proxies.what
    assert [one.status for one in network.proxies({})] == ["ok"]
