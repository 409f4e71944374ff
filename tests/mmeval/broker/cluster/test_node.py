from pathlib import Path

import pytest

import mmeval
from mmeval.broker.cluster import node as module
from mmeval.broker.cluster.node import OtherCodeError, RunContext, code_digest, enter
from mmeval.errors import UsageError

pytestmark = pytest.mark.usefixtures("toys")


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunContext:
    monkeypatch.chdir(tmp_path)
    token = tmp_path / "token-1"
    token.write_text("secret")
    return RunContext(str(tmp_path), token, "secret", ("toy",), code_digest(("toy",)))


def test_a_node_that_shares_everything_enters_and_leaves_nothing(
    shared: RunContext, tmp_path: Path
) -> None:
    enter(shared)
    assert [*tmp_path.glob("token*")] == [shared.token]


@pytest.mark.parametrize("what", ["cwd", "token", "secret"])
def test_a_node_that_sees_other_folders_says_which(
    what: str, shared: RunContext, tmp_path: Path
) -> None:
    other = {
        "cwd": str(tmp_path / "none"),
        "token": tmp_path / "none" / "token",
        "secret": "another",
    }
    with pytest.raises(UsageError, match="token-1" if what == "secret" else "none"):
        enter(shared._replace(**{what: other[what]}))  # type: ignore[arg-type]


def test_what_lies_beside_the_packages_is_no_code_of_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = code_digest()
    (tmp_path / "script.py").write_text("print()")
    locations = [*mmeval.__path__, str(tmp_path)]
    monkeypatch.setattr(mmeval.__spec__, "submodule_search_locations", locations)
    assert code_digest() == before


def test_a_node_with_other_code_names_both(
    shared: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OtherCodeError) as caught:
        enter(shared._replace(backends=()))
    assert code_digest() in str(caught.value) and shared.code in str(caught.value)
    monkeypatch.setattr(module, "__version__", "9.9")
    assert code_digest(("toy",)) == f"9.9+{shared.code.partition('+')[2]}"
