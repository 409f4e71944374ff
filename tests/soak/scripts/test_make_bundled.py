import io
from pathlib import Path

import numpy as np
import pytest

from scripts.make_bundled import ROOT, bundled, write

FOLDERS = tuple(
    f"tasks/{name}/bundled"
    for name in ("unim", "mmmg", "isg", "mme_unify", "ueval", "example")
)
LIMIT = 1_750_000


def files_under(root: Path) -> dict[str, bytes]:
    found = (
        path
        for folder in FOLDERS
        for path in (root / folder).rglob("*")
        if path.is_file()
    )
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def frames(clip: bytes) -> np.ndarray:
    av = pytest.importorskip("av")
    with av.open(io.BytesIO(clip)) as container:
        return np.stack(
            [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        )


def test_the_tree_holds_what_the_script_makes_and_little(tmp_path: Path) -> None:
    write(bundled(), tmp_path)
    made, tree = files_under(tmp_path), files_under(ROOT)
    clips = [name for name in made if name.endswith(".mp4")]
    assert sorted(tree) == sorted(made)
    assert [
        name for name in made if name not in clips and made[name] != tree[name]
    ] == []
    # Encoders of other versions write other bytes; a shape in another place would
    # differ by far more than their loss.
    apart = [
        np.abs(frames(made[name]).astype(int) - frames(tree[name])).mean()
        for name in clips
    ]
    assert max(apart) < 2
    assert sum(map(len, made.values())) < LIMIT
