from mmeval.authoring.scaffold.samples import rows_of
from mmeval.media import decode
from mmeval.media.media import Media


def test_pictures_and_sounds_are_what_their_rows_describe_and_no_two_tasks_have_the_same() -> (
    None
):
    rows = rows_of(0)
    media = {
        path: Media.from_bytes(content)
        for path, content in {**rows.pictures(), **rows.sounds()}.items()
    }
    picture = decode.image(media["media/red_square.png"])
    sound = decode.audio(media["media/tone_220.wav"])
    assert (picture.size, picture.getpixel((31, 31))) == ((32, 32), (200, 30, 30))
    assert (sound.rate, len(sound.samples)) == (8000, 2000)
    assert ((sound.samples[1:] > 0) & (sound.samples[:-1] <= 0)).sum() == 220 // 4, (
        "waves in a quarter of a second"
    )
    assert len({rows_of(task) for task in range(12)}) == 12
