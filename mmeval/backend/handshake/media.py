"""Makes small media with random content.

A model can know the content only if it reads the medium.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from mmeval.media.encode import mp4, png, wav
from mmeval.media.media import Media

COLOURS: Mapping[str, tuple[int, int, int]] = {
    "red": (215, 25, 25),
    "green": (20, 150, 50),
    "blue": (30, 70, 220),
    "yellow": (250, 220, 30),
    "orange": (250, 140, 20),
    "purple": (125, 40, 165),
    "pink": (255, 150, 200),
    "black": (0, 0, 0),
}
"""The eight colours of pictures and films, which are easy to tell apart."""
LETTERS = "ACDEFHJKLMNPRTUVXY"
"""Letters that look different from each other and from digits."""
WORD_LETTERS = 5
"""The number of letters of a random word. With 18 letters to choose from, 18 ** 5 words
are possible, which are too many to guess."""
MOST_BEEPS = 6
"""Maximum number of beeps in a group. Four groups then have 1,296 possible patterns."""
_WIDTH, _HEIGHT = 448, 224
_BAND = (0.33, 0.67)
"""The top and the bottom of the white band with the word, as shares of the height."""
_FONT_SIZE = 64
_RATE = 16_000
"""The sampling rate in Hz."""
_BEEP, _GAP, _PAUSE = 0.12, 0.16, 0.9
"""The seconds of a beep, of the gap after a beep, and of the pause after a group."""
_FRAMES_PER_SECOND = 8
_FILM_SIDE = 128


def word(draw: random.Random) -> str:
    """Returns a random word of capital letters."""
    return "".join(draw.choices(LETTERS, k=WORD_LETTERS))


def colours(draw: random.Random, count: int) -> list[str]:
    """Returns random names of colours. Two colours in a row always differ."""
    names: list[str] = []
    while len(names) < count:
        name = draw.choice(list(COLOURS))
        if not names or names[-1] != name:
            names.append(name)
    return names


def picture(stripes: Sequence[str], text: str = "") -> Media:
    """Makes a picture of vertical stripes with a word on a white band."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (_WIDTH, _HEIGHT))
    canvas = ImageDraw.Draw(image)
    for position, name in enumerate(stripes):
        left = _WIDTH * position // len(stripes)
        right = _WIDTH * (position + 1) // len(stripes)
        canvas.rectangle((left, 0, right, _HEIGHT), fill=COLOURS[name])
    if text:
        top, bottom = (round(share * _HEIGHT) for share in _BAND)
        canvas.rectangle((0, top, _WIDTH, bottom), fill="white")
        centre = (_WIDTH / 2, _HEIGHT / 2)
        font = ImageFont.load_default(_FONT_SIZE)
        canvas.text(centre, text, fill="black", font=font, anchor="mm")
    return png(image)


def beeps(groups: Sequence[int]) -> Media:
    """Makes a sound of groups of short beeps, with a pause after each group."""
    import numpy as np

    time = np.arange(round(_BEEP * _RATE)) / _RATE
    beep = (0.5 * np.sin(2 * np.pi * 880 * time)).astype(np.float32)
    gap = np.zeros(round(_GAP * _RATE), np.float32)
    pause = np.zeros(round(_PAUSE * _RATE), np.float32)
    pieces = [pause]
    for count in groups:
        pieces += [beep, gap] * count
        pieces.append(pause)
    return wav(np.concatenate(pieces), _RATE)


def page(text: str) -> Media:
    """Makes a PDF of one page. The text has only letters, digits and spaces."""
    content = f"BT /F1 48 Tf 72 600 Td ({text}) Tj ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    file = "%PDF-1.4\n"
    offsets: list[int] = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(file))
        file += f"{number} 0 obj\n{body}\nendobj\n"
    table = len(file)
    file += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    for offset in offsets:
        file += f"{offset:010d} 00000 n \n"
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R >>"
    file += f"trailer\n{trailer}\nstartxref\n{table}\n%%EOF\n"
    return Media.from_bytes(file.encode("ascii"), "page.pdf")


def film(names: Sequence[str]) -> Media:
    """Makes a film (MP4) that shows these colours, each for a second.

    Raises MissingExtraError if the package av is missing.
    """
    import numpy as np

    side = (_FILM_SIDE, _FILM_SIDE, 1)
    seconds = [np.tile(np.array(COLOURS[name], np.uint8), side) for name in names]
    frames = np.repeat(np.stack(seconds), _FRAMES_PER_SECOND, axis=0)
    return mp4(frames, _FRAMES_PER_SECOND)
