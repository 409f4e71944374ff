"""The data set of the tests, tests/fixtures/unim_hub: forms that UniM's records may
have, as samples."""

from scripts.make_unim_hub import HUB, ROOT, hub

FOLDER = ROOT / HUB
ENCODED = (".mp4", ".webm", ".jpg")
"""Their bytes belong to the installed encoder."""


def test_the_tree_holds_what_the_script_makes() -> None:
    made = hub()
    tree = {
        path.relative_to(FOLDER).as_posix(): path
        for path in FOLDER.rglob("*")
        if path.is_file()
    }
    assert sorted(tree) == sorted(made)
    same = [name for name in made if not name.endswith(ENCODED)]
    assert [name for name in same if tree[name].read_bytes() != made[name]] == []
