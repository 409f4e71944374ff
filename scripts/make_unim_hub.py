"""Make a small UniM data set in the hub's layout with every form that its records may
have, damaged ones too: `python -m scripts.make_unim_hub [FOLDER]` in the checkout.

Tests of the UniM data explain each record. All texts and media are made here.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from scripts.make_bundled import Files, write
from scripts.synthetic_media import (
    BLUE,
    GREEN,
    RED,
    YELLOW,
    bars,
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

ROOT = Path(__file__).resolve().parent.parent
HUB = "tests/fixtures/unim_hub"
PLACEHOLDERS, CAPTIONS = "qapairs_placeholder", "qapairs_caption"

OBJ = (
    b"mtllib thd_0001_01.mtl\nv 0 0 0\nv 2 0 0\nv 0 2 0\nv 0 0 2\nusemtl red\nf 1 3 "
    b"2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
)
MTL = b"newmtl red\nKd 0.8 0.2 0.2\nmap_Kd thd_0001_01.jpg\n"
PLY = (
    b"ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n"
    b"property float z\nend_header\n"
    b"0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
)
SILENT_MP3 = (b"\xff\xfb\x90\x00" + bytes(413)) * 8
"""Eight frames of MPEG-1 layer III at 128 kbit/s, whose side information says that they
hold nothing."""
OLD_WORD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)
"""The head of a compound file, by which a .doc is recognised, without a document."""


def record(
    place: tuple[str, str],
    number: object,
    level: object,
    given: tuple[str, Mapping[str, Any]],
    expected: tuple[str, Mapping[str, Any]],
    **more: Any,
) -> dict[str, Any]:
    """A record; ``place`` is its field and domain, ``given`` and ``expected`` are the
    text and the ``modal`` of a side. Empty names are left out."""
    texts = zip(_SIDES, (given, expected), strict=True)
    sides = {
        side: {"modal": dict(modal), "content": text} for side, (text, modal) in texts
    }
    row = {
        "domain": place[0],
        "subdomain": place[1],
        "id": number,
        "difficulty_level": level,
        **more,
        **sides,
    }
    return {key: value for key, value in row.items() if value != ""}


_SIDES = ("input", "output")


def captioned(row: Mapping[str, Any], captions: Mapping[str, str]) -> dict[str, Any]:
    """A record of the caption variant: each tag with its caption in it."""
    sides = {}
    for side in _SIDES:
        text = row[side]["content"]
        for tag, words in captions.items():
            text = text.replace(f"<{tag}>", f"<{tag}: {words}>")
        sides[side] = {"modal": {}, "content": text}
    return {**row, **sides}


def concatenated(*rows: Mapping[str, Any]) -> bytes:
    """Indented objects, one after the other, as in the data."""
    return (
        "\n".join(
            json.dumps(row, indent=4, ensure_ascii=False) for row in rows
        ).encode()
        + b"\n"
    )


def lines(*rows: Mapping[str, Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def jpg() -> bytes:
    """A picture of a page."""
    out = io.BytesIO()
    picture = Image.new("RGB", (48, 64), "white")
    picture.paste((0, 0, 0), (8, 8, 40, 12))
    picture.save(out, "JPEG", quality=80)
    return out.getvalue()


def hub() -> Files:
    """Bytes by path from the data set's folder."""
    files: Files = {}
    for make in (
        _pictures,
        _documents,
        _sounds,
        _code,
        _shapes,
        _transcripts,
        _weights,
        _bare,
        _anywhere,
        _damaged,
    ):
        make(files)
    return files


def _pictures(files: Files) -> None:
    """Indented objects; media under data/, and beside the records; a caption file of
    the same path."""
    field = "natural_science"
    place = "natural_science/1_math/image"
    media = "data/natural_science/math/image"
    red = {"image1": "image/img_0001_01.png"}
    rows = [
        record(
            (field, "math"),
            "1",
            1,
            ("How many bars has <image1>?", red),
            ("Two, as in <image2>.", {"image2": "image/img_0001_02.png"}),
        ),
        record(
            (field, "math"),
            2,
            "medium",
            ("Turn <<image1>> green.", {"image1": "beside/img_0002_01.png"}),
            ("Here it is: <<image2>>", {"image2": "beside/img_0002_02.png"}),
        ),
        record(
            (field, "Math"),
            "3",
            "3",
            ("Draw what follows <image1>.", {"image1": "image/img_0003 01.png"}),
            (
                "Then <image2>, <image3>, <image4>.",
                {f"image{at}": f"image/img_0003_0{at}.png" for at in (2, 3, 4)},
            ),
        ),
    ]
    files[f"{PLACEHOLDERS}/{place}/image_image.jsonl"] = concatenated(*rows)
    captions = {f"image{at}": f"a chart with {at} bars" for at in (1, 2, 3, 4)}
    files[f"{CAPTIONS}/{place}/image_image.jsonl"] = concatenated(
        *(captioned(row, captions) for row in rows[:2])
    )
    files[f"{media}/img_0001_01.png"] = png(bars(16, 48))
    files[f"{media}/img_0001_02.png"] = png(bars(48, 16))
    files[f"{PLACEHOLDERS}/{place}/beside/img_0002_01.png"] = png(disc(32, 32, 20, RED))
    files[f"{PLACEHOLDERS}/{place}/beside/img_0002_02.png"] = png(
        disc(32, 32, 20, GREEN)
    )
    files[f"{media}/img_0003 01.png"] = png(square(8, 8, 16, BLUE))
    for at in (2, 3, 4):
        files[f"{media}/img_0003_0{at}.png"] = png(square(8, 8, 16 * at - 16, YELLOW))


def _documents(files: Files) -> None:
    """One object a line; documents of every kind; the id 1 once more in this domain."""
    field, media = "natural_science", "data/natural_science/math"
    kinds: Mapping[str, bytes] = {
        "pdf": pdf("one", "two"),
        "csv": b"name,amount\nsalt,2\nflour,500\n",
        "txt": b"Turn left at the well.\n",
        "png": png(bars(8, 8, 60)),
        "jpg": jpg(),
        "doc": OLD_WORD,
    }
    rows = []
    for at, (suffix, data) in enumerate(kinds.items()):
        number = "1" if at == 0 else str(10 + at)
        given = f"document/doc_{number:0>4}_01.{suffix}"
        expected = f"document/doc_{number:0>4}_02.csv"
        rows.append(
            record(
                (field, "math"),
                number,
                2,
                ("Count the words of <document1>.", {"document1": given}),
                ("The table has them: <document2>", {"document2": expected}),
            )
        )
        files[f"{media}/{given}"] = data
        files[f"{media}/{expected}"] = b"words\n%d\n" % (at + 2)
    files[f"{PLACEHOLDERS}/natural_science/1_math/document/document_document.jsonl"] = (
        lines(*rows)
    )


def _sounds(files: Files) -> None:
    """A list of objects; media in a folder with the number of the domain; the id 1 in
    another domain."""
    media = "data/natural_science/2_physics/audio"
    row = record(
        ("natural_science", "physics"),
        "1",
        1,
        (
            "Which note of <audio1> and <audio2> is lower?",
            {"audio1": "audio/aud_0001_01.wav", "audio2": "audio/aud_0001_02.mp3"},
        ),
        ("The first: <audio3>", {"audio3": "audio/aud_0001_03.wav"}),
    )
    files[f"{PLACEHOLDERS}/natural_science/2_physics/audio/audio_audio.json"] = (
        json.dumps([row], indent=2).encode()
    )
    files[f"{media}/aud_0001_01.wav"] = wav((220, 100))
    files[f"{media}/aud_0001_02.mp3"] = SILENT_MP3
    files[f"{media}/aud_0001_03.wav"] = wav((220, 200))


def _code(files: Files) -> None:
    """Objects side by side on one line, and texts with braces that do not match."""
    field = "natural_science"
    open_, closed = "```c\nif (x) {\n```", "```c\n}}\n```"
    rows = [
        record(
            (field, "programming"),
            "1",
            3,
            ("What lacks <code1>?", {"code1": open_}),
            ("See <code2>", {"code2": "```c\nif (x) {}\n```"}),
        ),
        record(
            (field, "programming"),
            "2",
            3,
            ("What is too much in <code1>?", {"code1": closed}),
            ("See <code2>", {"code2": "```c\n}\n```", "text1": "See"}),
        ),
    ]
    path = f"{PLACEHOLDERS}/natural_science/6_programming/code/code_code.jsonl"
    files[path] = b" ".join(json.dumps(row).encode() for row in rows)


def _shapes(files: Files) -> None:
    """A mesh over three tags on either side; the other kinds of shape; both names of
    the folder and of the tag."""
    field, media = "natural_science", "data/natural_science/engineering"
    three = {
        f"threeD{at}": f"3dmesh/thd_0001_01.{suffix}"
        for at, suffix in enumerate(("obj", "mtl", "jpg"), 1)
    }
    turned = {
        f"threeD{at}": f"3dmesh/thd_0001_0{at}.{suffix}"
        for at, suffix in enumerate(("obj", "mtl", "jpg"), 4)
    }
    rows = [
        record(
            (field, "engineering"),
            "1",
            3,
            ("Mirror <threeD1> <threeD2> <threeD3>.", three),
            ("Mirrored: <threeD4> <threeD5> <threeD6>", turned),
        ),
        record(
            (field, "engineering"),
            "2",
            3,
            ("Take <<3d1>> for points.", {"3d1": "threeD/thd_0002_01.off"}),
            ("<<3d2>>", {"3d2": "threeD/thd_0002_02.ply"}),
        ),
        record(
            (field, "engineering"),
            "3",
            2,
            ("Sketch <threeD1>.", {"threeD1": "threeD/thd_0003_01.off"}),
            (
                "<image1>, and in numbers <document1>",
                {
                    "image1": "image/img_0003_01.png",
                    "document1": "document/doc_0003_01.pdf",
                },
            ),
        ),
    ]
    files[f"{PLACEHOLDERS}/natural_science/7_engineering/threeD_threeD.jsonl"] = (
        concatenated(*rows)
    )
    for at, name in enumerate([*three.values(), *turned.values()]):
        files[f"{media}/{name}"] = (OBJ, MTL, jpg())[at % 3]
    files[f"{media}/threeD/thd_0002_01.off"] = tetrahedron(1)
    files[f"{media}/threeD/thd_0002_02.ply"] = PLY
    files[f"{media}/threeD/thd_0003_01.off"] = octahedron(2)
    files[f"{media}/image/img_0003_01.png"] = png(square(16, 16, 32, BLUE))
    files[f"{media}/document/doc_0003_01.pdf"] = pdf("corners: 6")


def _transcripts(files: Files) -> None:
    """Words in place of a sound's path; numbers that begin again in the answer;
    capabilities as a list; captions in a file of another name."""
    field, domain, place = "social_science", "art", "social_science/17_art"
    row = record(
        (field, domain),
        "1",
        3,
        ("Film what is said: <audio1>", {"audio1": "a ball falls\nfrom a table"}),
        (
            "<video1> with <audio1>",
            {"video1": "video/vid_0001_01.webm", "audio1": "audio/aud_0001_01.wav"},
        ),
        capabilities=["C6", "temporal understanding", "a capability of its own"],
    )
    files[f"{PLACEHOLDERS}/{place}/audio_video&audio.jsonl"] = concatenated(row)
    captions = {"video1": "a ball falls from a table", "audio1": "one knock"}
    files[f"{CAPTIONS}/{place}/all.jsonl"] = lines(captioned(row, captions))
    falling = moving(lambda at: disc(32, at, 8, RED))
    files[f"data/{field}/{domain}/video/vid_0001_01.webm"] = clip(falling, form="webm")
    files[f"data/{field}/{domain}/audio/aud_0001_01.wav"] = wav((110, 40))


def _weights(files: Files) -> None:
    """A byte order mark; soft labels; media where the coherence scorer looks for
    them."""
    field, domain = "social_science", "education"
    row = record(
        (field, domain),
        "1",
        2,
        ("What does <video1> teach?", {"video1": "video/vid_0001_01.mp4"}),
        ("A square moves: <image1>", {"image1": "image/img_0001_01.png"}),
        capability_labels={"C1": 0.75, "reasoning": 0.25, "C10": 0},
    )
    files[f"{PLACEHOLDERS}/{field}/15_education/video_image.jsonl"] = (
        b"\xef\xbb\xbf" + lines(row)
    )
    files[f"{field}/{domain}/video/vid_0001_01.mp4"] = clip(
        moving(lambda at: square(at * 3 // 4, 24, 16, RED))
    )
    files[f"{field}/{domain}/image/img_0001_01.png"] = png(square(24, 24, 16, RED))


def _bare(files: Files) -> None:
    """No names in the record: its folders have them. The other word for the third
    field; media at the top."""
    row = record(
        ("", ""),
        "1",
        1,
        ("Play the beat.", {}),
        ("So: <audio1>", {"audio1": "audio/aud_0001_01.wav"}),
    )
    place = "general_domain/21_sports/audio/text_audio.jsonl"
    files[f"{PLACEHOLDERS}/{place}"] = concatenated(row)
    files[f"{CAPTIONS}/{place}"] = concatenated(captioned(row, {"audio1": "two beats"}))
    files["audio/aud_0001_01.wav"] = wav((440, 40), (0, 100), (440, 40))


def _anywhere(files: Files) -> None:
    """A folder whose name says nothing, with records of two domains."""
    rows = [
        record(
            ("general_domain", "news"),
            "1",
            2,
            ("Read <image1> aloud.", {"image1": "img.png"}),
            ("<audio1>", {"audio1": "read.wav"}),
        ),
        record(
            ("social_science", "law"),
            "1",
            3,
            ("Find the clause in <document1>.", {"document1": "law.txt"}),
            ("<document2>", {"document2": "clause.txt"}),
            capability="C7",
        ),
    ]
    files[f"{PLACEHOLDERS}/part_2/mixed.jsonl"] = concatenated(*rows)
    files[f"{PLACEHOLDERS}/part_2/img.png"] = png(bars(20, 40))
    files[f"{PLACEHOLDERS}/part_2/read.wav"] = wav((300, 50))
    files[f"{PLACEHOLDERS}/part_2/law.txt"] = (
        b"1. Dogs on a lead.\n2. Cats as they like.\n"
    )
    files[f"{PLACEHOLDERS}/part_2/clause.txt"] = b"2. Cats as they like.\n"


def _damaged(files: Files) -> None:
    """Invalid records between valid ones."""
    field, domain, media = "general_area", "food", "data/general_area/food"

    def row(
        number: object,
        given: Any = "image/ok.png",
        expected: Any = "image/ok.png",
        level: object = 2,
    ) -> bytes:
        asked = ("What is in <image1>?", {"image1": given})
        answer = ("This: <image2>", {"image2": expected})
        return concatenated(record((field, domain), number, level, asked, answer))

    good, cut = row("13"), row("14")
    files[f"{PLACEHOLDERS}/{field}/25_food/image_image.jsonl"] = b"".join(
        [
            row("1"),
            row("2").replace(b'"input": {', b'"input": {{'),
            row("3"),
            row("4", given="image/gone.png"),
            row("5", expected="image/gone_too.png"),
            row("6", given=6),
            row("7", level="x"),
            row("", level=3),
            row("9", given="image/page.png"),
            row("10", given="https://example.org/image.png"),
            row("11", given="../../../README.md"),
            row("12", given="image/empty.png"),
            good,
            cut[: len(cut) // 2],
        ]
    )
    files[f"{media}/image/ok.png"] = png(disc(32, 32, 24, GREEN))
    files[f"{media}/image/page.png"] = b"<!doctype html><title>not found</title>\n"
    files[f"{media}/image/empty.png"] = b""


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the UniM data set of the tests.")
    parser.add_argument(
        "folder", nargs="?", type=Path, default=ROOT / HUB, help="where to write"
    )
    write(hub(), parser.parse_args().folder)


if __name__ == "__main__":
    main()
