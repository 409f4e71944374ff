import pytest

from mmeval import decode
from mmeval.media import Media
from mmeval.scaffold.samples import png, rows_of, wav


def test_a_picture_and_a_sound_can_be_read() -> None:
    picture = decode.image(Media.from_bytes(png((200, 30, 30), side=4)))
    sound = decode.audio(Media.from_bytes(wav(440)))

    assert (picture.size, picture.getpixel((3, 3))) == ((4, 4), (200, 30, 30))
    assert (sound.rate, len(sound.samples)) == (8000, 2000)


@pytest.mark.parametrize("other", range(1, 12))
def test_no_two_tasks_have_the_same_rows(other: int) -> None:
    ids = [{row.values["id"] for row in rows_of(task)} for task in (0, other)]

    assert ids[0] != ids[1]
