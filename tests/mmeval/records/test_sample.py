from pathlib import Path

from mmeval.media.media import Media
from mmeval.records.digests import line_digest
from mmeval.records.sample import Sample, user
from tests.support import tiny_media as tiny

TEXT = Sample("s0", (user("What is this?"),), metadata={"level": 1})


def test_the_digest_of_a_sample_without_media_is_that_of_its_line() -> None:
    line = TEXT.to_line()

    assert TEXT.digest == line_digest(line)


def test_a_sample_has_the_same_digest_before_its_line_is_made() -> None:
    fresh = Sample("s0", (user("What is this?"),), metadata={"level": 1})
    digest = fresh.digest
    fresh.to_line()

    assert fresh.digest == digest


def test_the_place_of_a_medium_does_not_change_the_digest(tmp_path: Path) -> None:
    digests = set()
    for name in ("a.png", "b.png"):
        file = tmp_path / name
        file.write_bytes(tiny.picture(colour=(1, 2, 3)))
        sample = Sample("s0", (user(Media.from_path(file)),))
        sample.to_line()
        digests.add(sample.digest)

    assert len(digests) == 1
