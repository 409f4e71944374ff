import io

import pytest

from mmeval.content.media_type import sniff_mime
from scripts.synthetic_media import (
    BLUE,
    CLIP_FRAMES,
    PALETTE,
    RED,
    SIDE,
    clip,
    disc,
    moving,
    octahedron,
    pdf,
    png,
    square,
    tetrahedron,
    wav,
)


def test_a_picture_shows_what_was_painted() -> None:
    image = pytest.importorskip("PIL.Image").open(io.BytesIO(png(square(0, 0, 8, RED)))).convert("RGB")

    assert image.size == (SIDE, SIDE)
    assert (image.getpixel((3, 3)), image.getpixel((20, 20))) == (PALETTE[RED], PALETTE[0])


def test_a_sound_has_its_length_its_pitch_and_no_offset() -> None:
    soundfile = pytest.importorskip("soundfile")

    samples, rate = soundfile.read(io.BytesIO(wav((500, 1000), (0, 500))))

    rises = ((samples[:-1] < 0) & (samples[1:] >= 0)).sum()
    assert (len(samples) / rate, abs(rises - 500) <= 1) == (1.5, True)
    assert abs(samples.mean()) < 0.001


def test_a_clip_has_its_frames_in_order() -> None:
    av = pytest.importorskip("av")
    with av.open(io.BytesIO(clip(moving(lambda at: disc(at, 32, 8, BLUE))))) as container:
        shown = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]

    middles = [(frame[..., 0] < 128).nonzero()[1].mean() for frame in shown]
    assert len(shown) == CLIP_FRAMES
    assert middles == sorted(middles)


@pytest.mark.parametrize(("mesh", "volume"), [(tetrahedron(2), 8 / 6), (octahedron(3), 36)], ids=["four", "eight"])
def test_a_mesh_is_closed_and_faces_outwards(mesh: bytes, volume: float) -> None:
    shape = pytest.importorskip("trimesh").load(io.BytesIO(mesh), file_type="off", force="mesh")

    assert shape.is_watertight
    assert shape.volume == pytest.approx(volume)


def test_a_page_has_its_lines_and_each_medium_is_known_by_its_content() -> None:
    document = pytest.importorskip("pypdf").PdfReader(io.BytesIO(pdf("first", "second")), strict=True)

    assert document.pages[0].extract_text().split() == ["first", "second"]
    media = (png(disc(9, 9, 3, RED)), wav((440, 10)), pdf("a"))
    assert [sniff_mime(data) for data in media] == ["image/png", "audio/wav", "application/pdf"]
