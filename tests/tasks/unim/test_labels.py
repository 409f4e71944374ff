import pytest

from mmeval.tasks.unim.labels import capabilities_of


@pytest.mark.parametrize("key", ["capabilities", "capability", "capability_labels"])
def test_capabilities_stand_under_each_likely_key(key: str) -> None:
    assert capabilities_of({key: ["C1"]}) == {"capabilities": ["C1"]}


@pytest.mark.parametrize(
    ("written", "ids"),
    [
        (["C1", "C10"], ["C1", "C10"]),
        (["c7", "C07", 7, "7"], ["C7"]),
        (["Spatial Understanding", "content-editing", "planning"], ["C2", "C5", "C10"]),
        ("reasoning", ["C7"]),
        # unknown ones stay
        (["C11", "c0", "tool use", "C1"], ["C11", "c0", "tool use", "C1"]),
        ([], []),
        (None, []),
        # What is no weight makes none.
        *(
            ({"C1": weight, "C2": 1}, ["C1", "C2"])
            for weight in ("much", -1, float("nan"), 10**400)
        ),
    ],
)
def test_capabilities_become_ids(written: object, ids: list[str]) -> None:
    assert capabilities_of({"capabilities": written}) == {"capabilities": ids}


def test_soft_labels_keep_their_weights() -> None:
    found = capabilities_of({"capabilities": {"C1": 1, "planning": 0.25, "C3": 0}})
    assert found == {
        "capabilities": ["C1", "C10"],
        "capability_weights": {"C1": 1.0, "C10": 0.25},
    }
