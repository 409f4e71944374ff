import pytest

from mmeval.tasks.unim.labels import capabilities_of


@pytest.mark.parametrize("key", ["capabilities", "capability", "capability_labels"])
def test_capabilities_are_read_under_each_likely_key(key: str) -> None:
    assert capabilities_of({key: ["C1"]}) == {"capabilities": ["C1"]}


@pytest.mark.parametrize(
    ("written", "ids"),
    [
        pytest.param(["C1", "C10"], ["C1", "C10"], id="ids"),
        pytest.param(["c7", "C07", 7, "7"], ["C7"], id="ids in other spellings, once"),
        pytest.param(["Spatial Understanding", "content-editing", "planning"], ["C2", "C5", "C10"], id="names"),
        pytest.param("reasoning", ["C7"], id="one name"),
        pytest.param(["C11", "c0", "tool use", "C1"], ["C11", "c0", "tool use", "C1"], id="unknown ones stay"),
        pytest.param([], [], id="none"),
        pytest.param(None, [], id="nothing"),
    ],
)
def test_capabilities_become_the_ids_of_the_paper(written: object, ids: list[str]) -> None:
    assert capabilities_of({"capability": written}) == {"capabilities": ids}


def test_soft_labels_keep_their_weights() -> None:
    assert capabilities_of({"capabilities": {"C1": 1, "planning": 0.25, "C3": 0}}) == {
        "capabilities": ["C1", "C10"],
        "capability_weights": {"C1": 1.0, "C10": 0.25},
    }


@pytest.mark.parametrize("weight", ["much", None, -1, float("nan"), pytest.param(10**400, id="huge")])
def test_what_is_no_weight_makes_none(weight: object) -> None:
    assert capabilities_of({"capabilities": {"C1": weight, "C2": 1}}) == {"capabilities": ["C1", "C2"]}
