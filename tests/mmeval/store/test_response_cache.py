from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.errors import StorageError
from mmeval.records.request import GenerationParams, Request
from mmeval.records.response import Response
from mmeval.records.sample import user
from mmeval.store.response_cache import ResponseCache
from tests.support.toy import picture, reply

IDENTITY = {"backend": "hf", "model": "m", "revision": "abc", "dtype": "bfloat16"}
ASKED = Request(
    (user("describe", picture(1)),),
    GenerationParams(temperature=1.0),
    ("text",),
    seed=3,
)


def key(identity: dict[str, str] = IDENTITY, asked: Request = ASKED) -> str:
    return ResponseCache.key(identity, asked.digest, asked.seed)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ResponseCache]:
    with closing(ResponseCache(tmp_path / "cache")) as opened:
        yield opened


def test_an_answer_comes_back_with_its_media_in_memory_and_outlives_the_process(
    tmp_path: Path,
) -> None:
    given = reply("see \ud800 <image1>", picture(9))
    with closing(ResponseCache(tmp_path)) as first:
        first.put(key(), given)
    with closing(ResponseCache(tmp_path)) as second:
        found = second.get(key())
    assert found == given and found.output is not None
    assert found.output.media()[0].data == picture(9).data


def test_a_change_of_the_model_or_the_question_misses_and_so_does_a_failure(
    cache: ResponseCache,
) -> None:
    cache.put(key(), reply("kept"))
    cache.put(key(asked=replace(ASKED, seed=5)), Response.failed("server", "gone"))
    for changed in (
        key({**IDENTITY, "model": "other"}),
        key(asked=replace(ASKED, messages=(user("describe!", picture(1)),))),
        key(asked=replace(ASKED, messages=(user("describe", picture(2)),))),
        *(key(asked=replace(ASKED, seed=seed)) for seed in (4, 5)),
    ):
        assert cache.get(changed) is None


@pytest.mark.parametrize("damage", ["gone", "changed"])
def test_an_answer_whose_medium_is_gone_or_changed_misses(
    tmp_path: Path, cache: ResponseCache, damage: str
) -> None:
    cache.put(key(), reply("<image1>", picture(9)))
    stored = next((tmp_path / "cache" / "media").rglob("*.png"))
    stored.unlink() if damage == "gone" else stored.write_bytes(
        b"x" * stored.stat().st_size
    )
    assert cache.get(key()) is None


def test_a_folder_that_is_no_cache_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "responses.sqlite").write_bytes(b"this is no data base" * 99)
    with pytest.raises(StorageError, match="--use_cache"):
        ResponseCache(tmp_path)
