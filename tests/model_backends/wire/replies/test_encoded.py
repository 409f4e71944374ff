import base64

import pytest

from mmeval.model_backends.wire.replies.encoded import (
    EncodedBytes,
    Link,
    encoded_amount,
    read_encoded,
)
from tests.support.openai_calls import PNG, data_uri

URI = data_uri(PNG, "image/png")
BASE64 = base64.b64encode(PNG).decode()
LONG = PNG * 20


HABITS = {
    "data URI": URI,
    "capitals": URI.replace("data:", "DATA:"),
    "no prefix": BASE64,
    "no padding": BASE64.rstrip("="),
    "prefix twice": "data:image/png;base64," + URI,
    "wrong type": URI.replace("image/png", "image/jpeg"),
    "no type": URI.replace("image/png", ""),
    "parameter": URI.replace(";", ";charset=utf-8;"),
    "blanks around": f" {URI}\n",
    "no word for base64": URI.replace(";base64", ""),
    "escapes of addresses": URI.replace("=", "%3D"),
}


@pytest.mark.parametrize(
    "text",
    HABITS.values(),
    ids=HABITS,
)
def test_bytes_are_read_in_every_habit_of_base64(text: str) -> None:
    encoded = read_encoded(text)
    assert isinstance(encoded, EncodedBytes)
    assert encoded.data == PNG


@pytest.mark.parametrize("encode", [base64.encodebytes, base64.urlsafe_b64encode])
def test_lines_and_letters_of_addresses_are_read(encode: object) -> None:
    data = bytes(range(256)) * 3
    text = encode(data).decode()  # type: ignore[operator]
    assert read_encoded(text, only_data=True) == EncodedBytes(data)


@pytest.mark.parametrize(
    "address",
    ["https://cdn/x.png", "file:///etc/passwd", "sandbox:/x.png", "/files/x.png"],
)
def test_an_address_is_a_link(address: str) -> None:
    assert read_encoded(address) == Link(address)


@pytest.mark.parametrize(
    "text",
    [URI[:-3], "data:image/png;base64,@@@@", "data:,", "", "y", "widget", "äöü"],
)
def test_what_is_neither_bytes_nor_an_address_is_nothing(text: str) -> None:
    assert read_encoded(text) is None


def test_a_drawing_in_an_address_is_read() -> None:
    assert read_encoded("data:image/svg+xml,%3Csvg/%3E") == EncodedBytes(
        b"<svg/>", "image/svg+xml"
    )


def test_the_type_with_its_parameters_is_kept() -> None:
    encoded = read_encoded("data:audio/L16;rate=16000;base64,AAAA")
    assert encoded == EncodedBytes(b"\0\0\0", "audio/L16;rate=16000")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (base64.b64encode(LONG).decode(), len(LONG)),
        (data_uri(LONG, "image/png"), len(LONG)),
        ("x" * 1024, 0),
        ("plain words, not base64 " * 9, 0),
        ("see " + base64.b64encode(LONG).decode() + " there", len(LONG)),
    ],
)
def test_the_size_of_base64_is_that_of_its_bytes(text: str, size: int) -> None:
    assert encoded_amount(text).size == size
