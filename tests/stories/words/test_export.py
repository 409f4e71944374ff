from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.words import RUN, TINY, Case, shown

MMMG = (
    "run --tasks mmmg_audio_text_order --data bundled --model reference -o runs "
    "--predict_only --report false"
)
UNIM = MMMG.replace("mmmg_audio_text_order", "unim_hard")
MIXED = MMMG.replace(
    "mmmg_audio_text_order", "isg_story,mme_unify_generation,rubric_example"
)
EXPORT = "export runs/reference/default"
AGAIN = f"{EXPORT} --format mmmg"
RATINGS = {"ratings.csv": "trial,rater,value\nt1,ann,4\nt1,ann,5\nt2,bob,\n"}


def _mine(folder: Path) -> None:
    (folder / "output/reference").mkdir(parents=True)
    (folder / "output/reference/mine").touch()


CASES = {
    "a run of MMMG": Case(AGAIN, {}, before=(MMMG,)),
    "a part of a run": Case(AGAIN, {}, before=(f"{MMMG} --limit 2",)),
    "a run of other tasks": Case(AGAIN, TINY, before=(RUN,)),
    "a run of several benchmarks": Case(f"{EXPORT} --format isg", {}, before=(MIXED,)),
    "a group of a run": Case(
        f"{EXPORT} --format isg --tasks isg_story", {}, before=(MIXED,)
    ),
    "a run of UniM": Case(f"{EXPORT} --format unim", {}, before=(UNIM,)),
    **{
        flags or "no format": Case(
            f"{EXPORT} {flags}", {}, before=(f"{MMMG} --limit 1",)
        )
        for flags in (
            "",
            "--format mmg",
            "--format mmeval",
            "--format mmmg --tasks mmmg_audio_text_ordr",
        )
    },
    "no run": Case("export", {}),
    "a format without a run": Case("export --format mmmg", {}),
    "ratings of a file": Case("export ratings.csv --format label_studio", RATINGS),
    "ratings that are there": Case(
        "export ratings.csv --format inspect",
        RATINGS,
        before=("export ratings.csv --format inspect",),
    ),
    "a form that can only be read": Case("export ratings.csv --format potato", RATINGS),
    "ratings of a task": Case("export ratings.csv --format csv --tasks t", RATINGS),
    "a folder that is there": Case(AGAIN, {}, before=(f"{MMMG} --limit 1", AGAIN)),
    "a folder of another kind": Case(
        f"{AGAIN} --force", {}, before=(f"{MMMG} --limit 1",), meanwhile=_mine
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_export(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot
