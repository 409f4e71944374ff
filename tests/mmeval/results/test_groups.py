from mmeval.records.score import Key
from mmeval.results.groups import depths, slice_by_slice, tasks_inside

MEMBERS = {"inner": ["a", "b"], "outer": ["inner", "c"], "empty": []}
CIRCLE = {"one": ["two", "a"], "two": ["one"]}


def test_groups_come_first_with_their_members_below_and_circles_come_to_an_end() -> (
    None
):
    found = depths(["d", "a", "inner", "outer", "empty", "b", "c"], MEMBERS)
    shown = {"outer": 0, "inner": 1, "a": 2, "b": 2, "c": 1, "empty": 0, "d": 0}
    assert list(found.items()) == list(shown.items())
    assert tasks_inside("outer", MEMBERS) == {"a", "b", "c"}
    assert tasks_inside("empty", MEMBERS) == set()
    assert tasks_inside("d", MEMBERS) == {"d"}
    assert tasks_inside("one", CIRCLE) == {"a"}
    assert list(depths(["one", "two"], CIRCLE)) == ["one", "two", "a"]


def test_slices_follow_the_whole_each_with_all_its_metrics() -> None:
    names = ["level=hard", "", "level=easy", "kind=x"]
    keys = [Key("a", metric, name) for metric in ("f1", "wer") for name in names]
    shown = [
        (name, metric)
        for name in ("", "level=hard", "level=easy")
        for metric in ("f1", "wer")
    ]
    assert [(key.slice, key.metric) for key in slice_by_slice(keys)] == shown
    assert {key.slice for key in slice_by_slice(keys, every=True)} == set(names)
