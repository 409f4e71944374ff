from types import SimpleNamespace

import numpy as np
import torch
import transformers

from mmeval.model_backends.hf.conversation.encoding import (
    encode_rows,
    placed,
    prompt_lengths,
)
from mmeval.model_backends.hf.conversation.messages import Chat, VideoFrames
from mmeval.model_backends.hf.conversation.rows import Row
from tests.support.models import asked, chat_of, drawn


def test_rows_are_padded_on_the_left_and_counted_without_it() -> None:
    adapter = chat_of("llava")
    rows = [adapter.row(0, asked("Hi")), adapter.row(1, asked("A longer one", drawn()))]
    encoded = encode_rows(adapter.processor, rows)
    short, long = prompt_lengths(encoded)
    assert encoded["attention_mask"][0].tolist() == [0] * (long - short) + [1] * short
    patches = 16
    assert short == len(rows[0].text)
    assert long == len(rows[1].text) - len("<image>") + patches


def test_a_sound_is_as_long_as_its_processor_makes_it() -> None:
    ears = transformers.WhisperFeatureExtractor(feature_size=128)
    tokenizer = chat_of("qwen2_audio").tokenizer
    processor = transformers.AudioFlamingo3Processor(
        ears, tokenizer, audio_token="<|AUDIO|>"
    )
    sound = Chat(
        (
            {
                "role": "user",
                "content": [{"type": "audio", "audio": np.zeros(16000, np.float32)}],
            },
        )
    )
    encoded = encode_rows(
        processor, [Row(n, asked("Hi"), sound, f"<|AUDIO|>{'Hi' * n}") for n in (1, 2)]
    )
    # half a minute, as the model was taught
    assert encoded["input_features"].shape == (2, 128, 3000)
    assert prompt_lengths(encoded) == [27, 29]


class Recorder:
    """A processor that notes how it is called."""

    tokenizer = SimpleNamespace(bos_token="<s>")

    def __call__(self, **given: object) -> dict[str, object]:
        self.given = given
        return {}


def encoded_with(text: str, chat: Chat) -> dict[str, object]:
    recorder = Recorder()
    encode_rows(recorder, [Row(0, asked("Hi"), chat, text)])
    return recorder.given


def test_films_go_as_frames_with_their_rate_and_a_text_that_opens_itself_gets_no_second_opening() -> (
    None
):
    film = VideoFrames(np.zeros((4, 8, 6, 3), np.uint8), 2.0)
    given = encoded_with(
        "Hi", Chat(({"role": "user", "content": [{"type": "video", "video": film}]},))
    )
    assert given["videos"] == [film.frames]
    assert given["do_sample_frames"] is False
    times = {
        "total_num_frames": 4,
        "fps": 2.0,
        "duration": 2.0,
        "frames_indices": [0, 1, 2, 3],
    }
    assert given["video_metadata"] == [{**times, "height": 8, "width": 6}]
    assert encoded_with("<s>Hi", Chat(()))["add_special_tokens"] is False
    assert (
        encoded_with("Hi", Chat(()))
        .keys()
        .isdisjoint(("add_special_tokens", "images", "videos", "audio"))
    )


def test_pictures_take_the_dtype_of_the_model_and_other_numbers_keep_theirs() -> None:
    model = torch.nn.Linear(1, 1).to(torch.bfloat16)
    model.device, model.dtype = torch.device("cpu"), torch.bfloat16
    given = {
        "pixel_values": torch.ones(2, 3),
        "seconds": torch.ones(2),
        "input_ids": torch.ones(1, 2).long(),
    }
    found = placed({**given, "n": None}, model)
    assert [found[name].dtype for name in given] == [
        torch.bfloat16,
        torch.float32,
        torch.int64,
    ]
    assert found["n"] is None
