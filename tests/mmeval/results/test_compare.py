from typing import Any

import pytest

from mmeval.results.compare import differences, unlike

METRIC = {
    "version": "1",
    "switches": {"a": 1},
    "aggregation": "mean",
    "outputs": ["n"],
    "judged": True,
}
OTHER_JUDGE: dict[str, Any] = {"judges": {"t": [{"role": "judge", "served": "j-2"}]}}


def document(*, version: str = "1.0", **changes: Any) -> dict[str, Any]:
    ours = {
        "protocols": {"t": "single"},
        "metrics": {"t": {"m": METRIC}},
        "judges": {"t": [{"role": "judge", "served": "j-1", "asked": "j"}]},
        "not_comparable": [],
    }
    return {"versions": {"t": version}, "mmeval": {**ours, **changes}}


def metric(**changes: Any) -> dict[str, Any]:
    return {"metrics": {"t": {"m": {**METRIC, **changes}}}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, []),
        ({"version": "2.0"}, ["t ", "1.0", "2.0"]),
        ({"not_comparable": ["t"]}, ["bundled"]),
        ({"uses_reference": ["t"]}, ["reference information", "t"]),
        ({"protocols": {"t": "episode"}}, ["t ", "protocol", "single", "episode"]),
        ({"refusals": {"t": "scored"}}, []),
        ({"refusals": {"t": "unscored"}}, ["refused answers of t", "unscored"]),
        (metric(version="2"), ["metric", "version"]),
        (
            metric(switches={}, aggregation="median"),
            ["metric differs in a, aggregation"],
        ),
        (OTHER_JUDGE, ["judge", "another model"]),
    ],
    ids=[
        "alike",
        "version",
        "data",
        "reference",
        "protocol",
        "refusals, as in older files",
        "refusals",
        "metric",
        "switches",
        "judge",
    ],
)
def test_a_difference_is_named(changes: dict[str, Any], words: list[str]) -> None:
    found = unlike(document(), document(**changes), ["t"], "n")
    assert [word for word in words if word not in found] == []
    assert bool(found) is bool(words)


def test_a_model_of_a_metric_is_its_files_whatever_it_is_called() -> None:
    def made_with(name: str, fingerprint: str) -> dict[str, Any]:
        model = {"name": name, "revision": name, "fingerprint": fingerprint}
        return document(**metric(switches={"model": model}))

    mine = made_with("me/scorer", "f1")
    found = [
        unlike(mine, made_with("./copy", fingerprint), ["t"], "n")
        for fingerprint in ("f1", "f2")
    ]
    assert [reason == "" for reason in found] == [True, False]


JUDGE: dict[str, Any] = {
    "backend": "hf",
    "model": "j",
    "weights": "w1",
    "dtype": "bf16",
}


def plan(params: dict[str, Any] | None = None, **identity: Any) -> dict[str, Any]:
    """The definition of a score set whose metric asks a judge."""
    roles = {"judge": {**JUDGE, **identity}}
    return {
        "metrics": [{"metric": "m", "roles": roles}],
        "role_params": {"judge": params or {}},
    }


@pytest.mark.parametrize(
    ("other", "aspects"),
    [
        (plan(), []),
        (plan(base_url="http://elsewhere/v1"), []),
        (plan(model="another name of it"), []),
        (plan(weights="w2"), ["judge"]),
        (plan(dtype="float32"), ["judge parameters"]),
        (plan({"temperature": 0.7}), ["judge parameters"]),
        (plan({"max_tokens": 9}, weights="w2"), ["judge", "judge parameters"]),
        ({}, []),
    ],
    ids=[
        "alike",
        "elsewhere",
        "other name",
        "weights",
        "dtype",
        "temperature",
        "both",
        "unknown",
    ],
)
def test_a_judge_is_known_by_more_than_its_name(
    other: dict[str, Any], aspects: list[str]
) -> None:
    found = differences(document(), document(), "t", "n", lambda _: (plan(), other))
    assert [one.aspect for one in found] == aspects


def test_across_the_judge_is_also_across_its_parameters() -> None:
    plans = (plan(), plan({"temperature": 0.7}, weights="w2"))
    documents = (document(), document())
    assert unlike(*documents, ["t"], "n", plans=lambda _: plans)
    assert not unlike(*documents, ["t"], "n", across=["judge"], plans=lambda _: plans)


def test_a_number_that_no_judge_gave_rests_on_none() -> None:
    plain = document(**metric(judged=False))
    plans = (plan(), plan(weights="w2"))
    assert not list(differences(plain, plain, "t", "n", lambda _: plans))
