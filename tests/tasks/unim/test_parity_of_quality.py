"""The values of UniM's released scorers of pictures, sounds and 3D items, through
``mmeval try metric NAME --cases FILE``.

Pictures: the features of the release agree to ten places, but where wide even slopes
leave only rounding: there they do with OpenCV 4.12, with which the script ran, and to
0.02 with a newer one. NIQE, with its original pristine model, is held within 1 %, and
within 5 % for a picture of even blocks, in which single patches are degenerate. Sounds
are packed without loss; the ratio after separation, which is noise of rounding with the
released margin, is not compared. 3D: topology and geometry agree to ten places;
sampling draws random points, and the released run drew others: its values spread by
some thousandths themselves.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.__main__ import main

INPUTS = Path(__file__).parents[2] / "fixtures" / "unim_quality"
FOLDERS = {
    "image_quality": "image",
    "niqe": "image",
    "audio_quality": "audio",
    "quality_3d": "threeD",
}
SAME, ROUNDED, DRAWN = 1e-8, 0.02, 0.01
SLOPES = ("i05_natural_blocky.png", "i08_gradient.png")
PICTURES, SOUNDS, SHAPES = (
    json.loads((INPUTS / kind / "expected.json").read_text())
    for kind in ("image", "audio", "threeD")
)
VARIANTS: dict[str, dict[str, Any]] = {
    "paper_q": {"combination": "paper", "hpss_margin": 1.0},
    "released_score_0_1": {"hpss_margin": 1.0, "apply_b_per": False},
    "released_with_b_per_0_1": {"hpss_margin": 1.0},
    "released_q01": {"hpss_margin": 1.0, "apply_b_per": False, "final_power": 1.0},
}
"""The switches under ``standard`` that give each variant of the quality of sounds."""
LOOSE = {"chroma_var": 1e-3, "hf_slope_logP": 1e-5}
"""Terms of sounds that measure the noise of rounding; all others are compared to two
millionths."""


class Verb:
    """``mmeval try metric``, on inputs of the fixtures."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.cases, self.capsys = folder / "cases.jsonl", capsys

    def rows(
        self, metric: str, names: Any, *flags: str, **params: Any
    ) -> dict[str, dict[str, Any]]:
        kind = "3d" if metric == "quality_3d" else FOLDERS[metric]
        media = {
            name: [{"type": kind, "path": str(INPUTS / FOLDERS[metric] / name)}]
            for name in names
        }
        lines = (
            {"name": name, "answer": answer, "params": params}
            for name, answer in media.items()
        )
        self.cases.write_text("".join(json.dumps(line) + "\n" for line in lines))
        main(["try", "metric", metric, "--cases", str(self.cases), *flags])
        found = [json.loads(line) for line in self.capsys.readouterr().out.splitlines()]
        assert [row["name"] for row in found] == list(names)
        return {
            row["name"]: {**row["evidence"]["items"][0], "value": row["value"]}
            for row in found
        }


@pytest.fixture
def verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Verb:
    return Verb(tmp_path, capsys)


def test_the_released_values_of_pictures_are_reproduced(verb: Verb) -> None:
    for name, item in verb.rows(
        "image_quality", PICTURES, "--profile", "official"
    ).items():
        wanted = PICTURES[name]["released"]
        near = ROUNDED if name in SLOPES else SAME
        assert item["value"] == pytest.approx(
            wanted["gq_0_100"] / 100, abs=near / 100
        ), name
        for term in ("brisque", "niqe", "features_scale1", "features_scale2"):
            assert item[term] == pytest.approx(wanted[term], abs=near), (name, term)


def test_niqe_is_reproduced(verb: Verb) -> None:
    for name, item in verb.rows("niqe", PICTURES).items():
        wanted = PICTURES[name]["niqe"]
        value = wanted["niqe"] and pytest.approx(
            wanted["niqe"], rel=0.05 if "blocky" in name else 0.01
        )
        assert (item["patches"], item["value"]) == (wanted["patches"], value), name


def test_the_quality_of_pictures_is_that_of_niqe(verb: Verb) -> None:
    found = verb.rows("image_quality", PICTURES)
    assert found["i03_natural.png"]["value"] == pytest.approx(
        1 - 6.290840868 / 10, abs=0.01
    )
    assert [
        found[name]["value"]
        for name in ("i05_natural_blocky.png", "i06_blank_gray.png")
    ] == [0, 0]
    assert (
        found["i12_97.png"]["enlarged"],
        found["i08_gradient.png"]["too_few_patches"],
    ) == (True, True)


def test_the_released_scores_of_sounds_and_all_their_terms_are_reproduced(
    verb: Verb,
) -> None:
    found = verb.rows("audio_quality", SOUNDS, "--profile", "official")
    for name, wanted in SOUNDS.items():
        terms = dict(wanted["released"])
        assert found[name]["value"] == pytest.approx(
            round(terms.pop("quality_0_100"), 2) / 100, abs=1e-12
        ), name
        for term, value in terms.items():
            close = LOOSE.get(term, 2e-6)
            near = (
                value if value is None else pytest.approx(value, rel=close, abs=close)
            )
            assert found[name][term] == near, (name, term)


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_of_sounds_follow_from_switches(variant: str, verb: Verb) -> None:
    found = {
        name: row["value"]
        for name, row in verb.rows("audio_quality", SOUNDS, **VARIANTS[variant]).items()
    }
    assert found == pytest.approx(
        {name: row["variants"][variant] for name, row in SOUNDS.items()}, abs=1e-6
    )


@pytest.mark.parametrize(
    ("combination", "weights"), [("released", (0.3, 0.4, 0.3)), ("paper", (1 / 3,) * 3)]
)
def test_the_released_terms_of_shapes_are_reproduced(
    combination: str, weights: tuple[float, ...], verb: Verb
) -> None:
    found = verb.rows(
        "quality_3d", SHAPES, "--profile", "official", combination=combination
    )
    for name, wanted in SHAPES.items():
        # topology, geometry, sampling; and some measures of them
        terms, measures = (wanted["terms"], wanted["measures"])
        drawn, item = name.startswith("m"), found[name]
        assert [item[term] for term in "TG"] == pytest.approx(terms[:2], abs=SAME), name
        assert item["S"] == pytest.approx(terms[2], abs=DRAWN if drawn else SAME), name
        assert {term: item[term] for term in measures} == pytest.approx(
            measures, abs=SAME
        ), name
        value = sum(weight * term for weight, term in zip(weights, terms, strict=True))
        assert item["value"] == pytest.approx(
            value, abs=DRAWN / 3 if drawn else 5.1e-5
        ), name
