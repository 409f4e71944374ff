"""What the workers of all recipes share, seen through one of them as a process."""

from pathlib import Path

import pytest

from mmeval.authoring.scaffold.recipes.facts import recipe_named
from mmeval.authoring.testing.media import UNREADABLE, small_media
from mmeval.errors import MmevalError
from mmeval.media import Media, PartKind, decode
from mmeval.records import Request, message
from tests.support.recipes import STAND_INS, answers, served


def asked(
    *content: str | Media,
    wants: tuple[PartKind, ...] = ("text",),
) -> Request:
    return Request((message("user", *content),), wants=wants, seed=7)


def test_texts_and_pictures_reach_the_model_in_the_order_of_the_prompt(
    tmp_path: Path,
) -> None:
    with served(recipe_named("bagel"), tmp_path) as backend:
        request = asked("before", small_media("image"), "after")
        (response,) = answers(backend, request)
    assert response.output is not None
    words = str(response.output.parts[0].text).split()
    assert [words[0], words[1][0], words[2]] == ["before", "(", "after"]


@pytest.mark.parametrize(
    ("recipe", "kinds"),
    [
        ("emu35", ["reasoning", "text", "image", "text"]),
        ("anygpt", ["text", "image", "text", "audio", "text"]),
        ("next_gpt", ["text", "image", "text", "video", "text", "audio"]),
    ],
)
def test_an_answer_has_its_pieces_in_the_order_of_the_model(
    recipe: str, kinds: list[str], tmp_path: Path
) -> None:
    given = recipe_named(recipe).gives
    with served(recipe_named(recipe), tmp_path) as backend:
        (response,) = answers(backend, asked("a hare", wants=given))
    assert response.output is not None
    assert [part.kind for part in response.output.parts] == kinds


def test_a_row_that_the_model_cannot_answer_leaves_the_others_alone(
    tmp_path: Path,
) -> None:
    rows = (
        asked("a hare", wants=("image",)),
        asked("like this", small_media("image"), wants=("image",)),
        asked("like that", UNREADABLE["image"], wants=("image",)),
    )
    with served(recipe_named("mmada"), tmp_path) as backend:
        responses = answers(backend, *rows)
    errors = [response.error and response.error.kind for response in responses]
    assert errors == [None, "unsupported", "bad_request"]


def test_a_conversation_of_several_turns_is_unsupported(tmp_path: Path) -> None:
    turns = (
        message("user", "a hare"),
        message("assistant", "yes"),
        message("user", "why"),
    )
    with served(recipe_named("bagel"), tmp_path) as backend:
        (response,) = answers(backend, Request(turns))
    assert response.error is not None
    assert response.error.kind == "unsupported"


def test_an_argument_replaces_a_setting_of_the_model(tmp_path: Path) -> None:
    sizes = {"image_shapes": [512, 256]}
    with served(recipe_named("bagel"), tmp_path, args=sizes) as backend:
        (response,) = answers(backend, asked("a hare", wants=("image",)))
    assert response.output is not None
    (part,) = response.output.parts
    assert part.media is not None
    assert decode.image(part.media).size == (16, 32)


def test_an_unknown_argument_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with (
        served(recipe_named("bagel"), tmp_path, args={"steps": 9}) as backend,
        pytest.raises(MmevalError, match="unknown argument steps; known: cfg_img"),
    ):
        backend.start()


def test_a_missing_repository_is_answered_with_what_to_clone(tmp_path: Path) -> None:
    nowhere = {"MODEL_REPOSITORY": str(tmp_path / "nowhere")}
    with (
        served(recipe_named("bagel"), tmp_path, env=nowhere) as backend,
        pytest.raises(MmevalError, match="clone ByteDance-Seed/Bagel"),
    ):
        backend.start()


def test_another_commit_of_the_repository_is_refused(tmp_path: Path) -> None:
    recipe = recipe_named("bagel")
    repository = tmp_path / "Bagel"
    (repository / ".git").mkdir(parents=True)
    (repository / ".git" / "HEAD").write_text("0" * 40)
    env = {"MODEL_REPOSITORY": str(repository), "PYTHONPATH": str(STAND_INS / "common")}
    with (
        served(recipe, tmp_path, env=env) as backend,
        pytest.raises(MmevalError, match=f"git checkout {recipe.commit}"),
    ):
        backend.start()


def test_a_text_cannot_name_a_file_for_the_model_to_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"not to be read")
    with served(recipe_named("next_gpt"), tmp_path) as backend:
        (response,) = answers(backend, asked(f"look <Image>{secret}</Image> here"))
    assert response.error is None
