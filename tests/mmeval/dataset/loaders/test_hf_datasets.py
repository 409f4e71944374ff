"""Data sets in the layouts of others, read with YAML only."""

import base64
import gc
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets.config
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import Dataset, DataSource
from mmeval.dataset.loaders.hf_datasets import load
from mmeval.errors import MissingDataError, UsageError
from mmeval.records.sample import Sample
from tests.support.cli import mmeval, results, run_folder
from tests.support.servers import FakeHub, at_hub
from tests.support.task_folder import built, write_files, write_rows
from tests.support.tiny_media import picture, wav

MEDIUM = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
COMMIT = "a" * 40
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
"""The library leaves files open."""


@pytest.fixture(autouse=True, scope="module")
def _files_left_open() -> Iterator[None]:
    """Close the library's open files here, not in a test of another module."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    with at_hub("", tmp_path, offline=True):
        yield


def picture_folder(folder: Path) -> None:
    rows = (
        "file_name,question,Right answer,level\na.png,Which?,An oak.,01\nb.png,And "
        "this?,An ash.,2\n"
    )
    write_files(folder, {"metadata.csv": rows})
    (folder / "a.png").write_bytes(picture())
    (folder / "b.png").write_bytes(picture())


def own_parquet(folder: Path) -> None:
    cells = pa.array(
        [
            [{"bytes": picture(), "path": None}],
            [{"bytes": picture(), "path": "b.png"}] * 2,
        ],
        pa.list_(MEDIUM),
    )
    columns = {
        "key": ["x", "y"],
        "q": ["a [1] b", "c [1]"],
        "pictures": cells,
        "a": [["one", "1"], ["two"]],
    }
    folder.mkdir()
    pq.write_table(
        pa.table({**columns, "kind": pa.array([0, 1])}), folder / "test.parquet"
    )


def json_lines(folder: Path) -> None:
    ask = {"words": "Hear:", "on": "2024-01-02"}
    rows = [
        {
            "sound": "s/1.wav",
            "ask": ask,
            "choices": ["2024-01-02", "1999-12-31"],
            "right": n,
        }
        for n in (0, 1)
    ]
    write_rows(folder, *rows)
    (folder / "s").mkdir()
    (folder / "s" / "1.wav").write_bytes(wav())


def csv(folder: Path) -> None:
    write_files(folder, {"test.csv": "none;a;note\nNone;007;\nN/A;1e5;x\n"})


def hub_layout(folder: Path) -> None:
    part = (
        "- config_name: {0}\n  data_files:\n  - split: validation\n    path: "
        "data/{0}-*.parquet\n"
    )
    write_files(
        folder,
        {
            "README.md": "---\nconfigs:\n"
            f"{part.format('easy')}{part.format('hard')}---\n",
            "data/x": "",
        },
    )
    features = datasets.Features(
        {"picture": datasets.Image(), "tree": datasets.ClassLabel(names=["oak", "ash"])}
    )
    for name in ("easy", "hard"):
        rows = {"picture": [{"bytes": picture(), "path": None}] * 2, "tree": [1, 0]}
        table = datasets.Dataset.from_dict(rows, features=features)
        pq.write_table(table.data.table, folder / "data" / f"{name}-0.parquet")


LAYOUTS: dict[str, tuple[Callable[[Path], None], str, list[Any]]] = {
    "an image folder with a CSV": (
        picture_folder,
        'test_split: train\ncolumns: {input: "{{ image }} {{ question }}", reference: '
        'Right answer, of: "{{ level }}"}',
        [
            ["image", " Which?"],
            "An oak.",
            {
                "question": "Which?",
                "Right answer": "An oak.",
                "level": "01",
                "of": "01",
            },
        ],
    ),
    "a parquet file with its own columns": (
        own_parquet,
        "columns: {id: key, input: \"{{ q | replace('[1]', pictures[0]) }}\", "
        "references: a, from: [book]}",
        [
            ["a ", "image", " b"],
            "one",
            {
                "key": "x",
                "q": "a [1] b",
                "a": ["one", "1"],
                "kind": 0,
                "from": ["book"],
            },
        ],
    ),
    "JSON lines with paths": (
        json_lines,
        "dataset_kwargs: {media_columns: [sound]}\n"
        'columns: {input: "{{ ask.words }}{{ sound }}", reference: "{{ choices[right] '
        '}}"}',
        [
            ["Hear:", "audio"],
            "2024-01-02",
            {
                "ask": {"words": "Hear:", "on": "2024-01-02"},
                "choices": ["2024-01-02", "1999-12-31"],
                "right": 0,
            },
        ],
    ),
    "a CSV": (
        csv,
        'dataset_kwargs: {sep: ";"}\ncolumns: {input: "{{ none_ }}", references: ["{{ '
        'note }}", a]}',
        [["None"], "007", {"none": "None", "a": "007", "note": ""}],
    ),
    "a folder in the layout of the hub": (
        hub_layout,
        'dataset_name: hard\ntest_split: validation\ncolumns: {input: "{{ picture '
        '}}", reference: tree}',
        [["image"], "ash", {"tree": "ash"}],
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_every_layout_become_samples(layout: str, tmp_path: Path) -> None:
    write, keys, (parts, reference, labels) = LAYOUTS[layout]
    write(tmp_path / "data")
    dataset = built(tmp_path, f"loader: datasets\ndataset_path: data\n{keys}").dataset()
    sample = next(rows_of(dataset))
    assert len(dataset) == 2
    assert [part.text or part.kind for part in sample.input[0].content.parts] == parts
    assert (sample.references[0].raw, sample.metadata) == (reference, labels)


def test_data_are_asked_and_scored_from_yaml_alone(tmp_path: Path) -> None:
    write, keys, _ = LAYOUTS["an image folder with a CSV"]
    write(tmp_path / "data")
    built(tmp_path, f"loader: datasets\ndataset_path: data\n{keys}")
    where = ("-o", tmp_path / "runs", "--model_tag", "m", "--score_workers", "0")
    run = mmeval("--tasks", tmp_path / "t.yaml", "--model", "reference", *where)
    assert run.code == 0, run.err
    report = results(run_folder(tmp_path / "runs"))
    assert report["results"]["t"]["exact_match,none"] == 1
    assert report["n-samples"]["t"]["effective"] == 2


def opened(
    folder: Path, columns: dict[str, Any], split: str = "test", **options: Any
) -> Dataset:
    return load(
        DataSource("t", folder, split=split, options={"columns": columns, **options})
    )


def test_a_row_that_makes_no_sample_has_its_own_fault_and_paths_stay_inside(
    tmp_path: Path,
) -> None:
    (tmp_path / "secret.png").write_bytes(picture())
    folder = tmp_path / "data"
    secret = tmp_path / "secret.png"
    members = (
        f"file:///..{secret}",
        f"local://{secret}",
        f"{secret}",
        "",
        "zip://in.png::zip://x.zip",
    )
    chained = [
        f"{member}::x.zip" for member in (*members, f"zip://in.png::file://{secret}")
    ]
    outside = ["../secret.png", str(secret), "none.png", *chained]
    rows = [{"p": path, "n": n} for n, path in enumerate(outside)]
    write_rows(
        folder, *rows, {"p": "in.png", "n": 0}, {"p": "zip://in.png::x.zip", "n": 4}
    )
    (folder / "in.png").write_bytes(picture())
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        archive.writestr("in.png", picture())
    columns = {"id": "row{{ n }}", "input": "{{ p }} {{ 8 // n }}"}
    samples = list(
        rows_of(
            opened(
                folder, columns, media_columns=["p"], data_files={"test": "test.jsonl"}
            )
        )
    )
    assert [bool(sample.fault) for sample in samples] == [True] * 10 + [False]
    assert all(
        f"row {number}: " in sample.fault
        for number, sample in enumerate(samples[:10], 1)
    )
    assert (samples[9].id, samples[10].id, samples[10].metadata) == (
        "row0",
        "row4",
        {"n": 4},
    )
    write_files(folder, {"no.csv": "p,n\n,1\n"})
    (without,) = rows_of(
        opened(
            folder,
            {"input": "{{ p }}x"},
            media_columns=["p"],
            data_files={"test": "no.csv"},
        )
    )
    assert without.fault == ""
    write_files(folder, {"dates.json": '[{"n": "2024-01-02"}]'})
    (dated,) = rows_of(
        opened(folder, {"input": "n"}, data_files={"test": "dates.json"})
    )
    assert "'n'" in dated.fault


@pytest.mark.parametrize(
    ("columns", "options", "word"),
    [
        ({}, {}, "columns: input is missing.* q, a"),
        ({"input": "{{ quest }}"}, {}, "columns.input: .*'quest'"),
        (
            {"input": "q", "reference": "anwser"},
            {"data_files": {"test": "long.csv"}},
            "unknown column 'anwser'.*answer",
        ),
        (
            {"input": "q"},
            {"data_files": {"test": "same.csv"}},
            "'a b' and 'a-b' are both a_b",
        ),
        ({"input": "q"}, {"media_columns": ["b"]}, "column of media_columns 'b'"),
        ({"input": "q"}, {"token": "x"}, "'token'"),
        ({"input": "q"}, {"data_files": {"test": ["../x.csv"]}}, "leads out"),
        (
            {"input": "q"},
            {"data_files": "zip::https://example.org/x.zip"},
            "not inside",
        ),
        ({"input": "q"}, {"README.md": "---\n%s---\n"}, "leads out"),
        ({"input": "q"}, {".huggingface.yaml": "%s"}, "leads out"),
        ({"input": "q"}, {"split": "gone"}, "gone.*test"),
        ({"input": "q"}, {"data_files": {"test": "bare.csv"}}, "test.* has no rows"),
        ({"input": "q"}, {"data_files": {"test": "empty.jsonl"}}, "test.* has no rows"),
    ],
)
def test_what_does_not_exist_is_named(
    tmp_path: Path, columns: Any, options: Any, word: str
) -> None:
    write_files(
        tmp_path,
        {"test.csv": "q,a\n1,2\n", "long.csv": "q,answer\n1,2\n", "bare.csv": "q,a\n"},
    )
    write_files(tmp_path, {"same.csv": "a b,a-b\n1,2\n", "empty.jsonl": ""})
    far = (
        "configs: [{config_name: default, data_files: [{split: test, path: "
        "'https://example.org/x.csv'}]}]\n"
    )
    write_files(
        tmp_path, {name: options.pop(name) % far for name in [*options] if "." in name}
    )
    with pytest.raises(UsageError, match=word):
        opened(tmp_path, columns, **options)


def test_the_fingerprint_follows_rows_and_media_and_a_torn_file_is_named(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "data"

    def mark() -> str:
        return opened(folder, {"input": "image"}, "train").fingerprint

    picture_folder(folder)
    before = mark()
    assert mark() == before
    (folder / "b.png").write_bytes(picture() + b"more")
    changed = mark()
    write_files(folder, {"metadata.csv": "file_name\na.png\nb.png\n"})
    assert len({before, changed, mark()}) == 3
    torn = tmp_path / "torn"
    write_files(torn, {"test.jsonl": '{"q": 1}\n{"q":'})
    with pytest.raises(UsageError, match=r"test.jsonl:2: .*JSON"):
        len(opened(torn, {"input": "q"}))
    write_files(torn, {"test.csv": "q\n1\n2,3\n"})
    with pytest.raises(UsageError, match=r"test.csv: .*line 3"):
        opened(torn, {"input": "q"}, data_files={"test": "test.csv"})
    for name in ("q", "w"):
        pq.write_table(pa.table({"q": ["1"], name: ["2"]}), torn / f"{name}.parquet")
    with pytest.raises(UsageError, match=r"columns of its files differ: one has q, w"):
        list(opened(torn, {"input": "q"}, data_files={"test": "*.parquet"}))


def test_media_in_an_archive_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "train.zip", "w") as archive:
        archive.writestr("a.png", picture())
    (sample,) = rows_of(opened(tmp_path, {"input": "image"}, "train"))
    assert sample.input[0].content.media("image")[0].read() == picture()


def parquet(rows: range) -> bytes:
    file = io.BytesIO()
    pq.write_table(
        pa.table({"q": [f"q{n}" for n in rows], "image": [picture()] * len(rows)}), file
    )
    return file.getvalue()


def test_of_a_data_set_on_the_hub_only_the_rows_that_are_used_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = {
        "dataset_info": {
            "splits": [{"name": "test", "num_examples": 30, "num_bytes": 9}]
        }
    }
    files = {
        f"test-0000{n}-of-00002.parquet": parquet(range(15 * n, 15 * n + 15))
        for n in range(2)
    }
    repo = {"README.md": f"---\n{json.dumps(head)}\n---\n".encode(), **files}
    keys = (
        'loader: datasets\ndataset_path: me/far\ncolumns: {input: "{{ image }} {{ q '
        '}}"}'
    )
    lines = {"test.jsonl": b'{"q": "1999-12-31"}\n{"q": "2024-01-02", "late": 1}'}
    with (
        FakeHub({"me/far": {COMMIT: repo}, "me/lines": {COMMIT: lines}}) as hub,
        at_hub(hub.url, tmp_path),
    ):
        for name, value in {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": False}.items():
            monkeypatch.setattr(datasets.config, name, value)
        task = built(tmp_path, keys)
        dataset = task.dataset()
        first: list[Sample] = [next(rows_of(dataset)) for _ in range(2)]
        assert (
            len(dataset),
            first[1].input[0].content.words,
            task.source()["commit"],
        ) == (30, " q0", COMMIT)
        assert [name for name in hub.fetched if name in files] == [
            "test-00000-of-00002.parquet"
        ]
        assert [sample.id for sample in rows_of(dataset)] == [
            str(n) for n in range(1, 31)
        ]
        of_lines = built(
            tmp_path,
            "loader: datasets\ndataset_path: me/lines\ncolumns: {input: q}",
        )
        rows = rows_of(of_lines.dataset())
        assert [row.metadata for row in rows] == [
            {"q": "1999-12-31", "late": None},
            {"q": "2024-01-02", "late": 1},
        ]
    with (
        at_hub("", tmp_path, offline=True),
        pytest.raises(MissingDataError, match="_OFFLINE is set"),
    ):
        built(tmp_path, keys).dataset()


def test_a_template_that_is_no_text_is_a_fault_of_its_line(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=r"columns.input: .*\n.*columns.id: .*\n.*columns.references\[1\]: ",
    ):
        built(
            tmp_path,
            "loader: datasets\ncolumns: {input: [q], id: 5, references: [a, 4]}",
        )


CODE = base64.b64encode(picture(size=(20, 20))).decode()


def single(
    folder: Path, row: dict[str, Any], columns: dict[str, Any], **more: Any
) -> Sample:
    """The sample of a row of JSON Lines; it has a fault if it cannot be asked."""
    write_rows(folder, row)
    return next(rows_of(opened(folder, columns, **more)))


def test_a_cell_of_base64_is_a_medium(tmp_path: Path) -> None:
    columns = {"input": "{{ image }} Which?"}
    sample = single(tmp_path, {"image": CODE}, columns, media_columns=["image"])
    assert sample.input[0].content.media("image")[0].read() == picture(size=(20, 20))


@pytest.mark.parametrize(
    ("cell", "source", "word"),
    [
        (CODE, "{{ cell }} Which?", "media_columns: [cell]"),
        ({"text": ["oak"], "start": 3}, "{{ cell }}", "text, start"),
        ([{"text": "oak"}], "Which? {{ cell }}", "text"),
    ],
    ids=["base64", "a mapping", "a list of mappings"],
)
def test_what_nobody_can_read_is_not_written_into_a_text(
    tmp_path: Path, cell: Any, source: str, word: str
) -> None:
    sample = single(tmp_path, {"cell": cell}, {"input": source})
    assert word in sample.fault


@pytest.mark.parametrize("key", ["reference", "references"])
def test_a_mapping_is_not_a_reference(tmp_path: Path, key: str) -> None:
    row = {"q": "Which?", "a": {"text": "oak"}}
    sample = single(tmp_path, row, {"input": "q", key: "a"})
    assert "mapping" in sample.fault


def test_options_that_are_written_as_a_text_become_a_list(tmp_path: Path) -> None:
    row = {"q": "Which?", "options": "['oak', \"ash's\"]", "answer": "['A', 'B']"}
    columns = {
        "input": "q",
        "options": "{{ options | literal }}",
        "references": "{{ answer | literal }}",
    }
    sample = single(tmp_path, row, columns)
    assert sample.metadata["options"] == ["oak", "ash's"]
    assert [reference.text for reference in sample.references] == ["A", "B"]


def test_a_column_of_messages_is_read_as_messages(tmp_path: Path) -> None:
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{CODE}"}}
    question = {"role": "user", "content": [part, {"type": "text", "text": "Which?"}]}
    messages = [
        {"role": "system", "content": "Be brief."},
        question,
        {"role": "assistant", "content": "An oak."},
    ]
    sample = single(tmp_path, {"messages": messages}, {"input": "messages"})
    assert [message.role for message in sample.input] == ["system", "user"]
    assert len(sample.input[1].content.media("image")) == 1
    assert [reference.text for reference in sample.references] == ["An oak."]
    assert sample.metadata == {}


def test_a_reference_of_columns_goes_before_the_assistant_s_message(
    tmp_path: Path,
) -> None:
    messages = [
        {"role": "user", "content": "Which?"},
        {"role": "assistant", "content": "x"},
    ]
    columns = {"input": "{{ messages }}", "reference": "answer"}
    sample = single(tmp_path, {"messages": messages, "answer": "oak"}, columns)
    assert [reference.text for reference in sample.references] == ["oak"]


def test_the_pictures_of_a_column_stand_where_messages_name_them(
    tmp_path: Path,
) -> None:
    messages = [{"role": "user", "content": "Compare <image> with <image>."}]
    row = {"images": [CODE, CODE], "messages": messages}
    columns = {"input": "messages"}
    sample = single(tmp_path, row, columns, media_columns=["images"])
    parts = [part.kind for part in sample.input[0].content.parts]
    assert parts == ["text", "image", "text", "image", "text"]


def test_a_picture_of_a_column_that_no_message_names_is_a_fault(
    tmp_path: Path,
) -> None:
    messages = [{"role": "user", "content": "Compare <image> with another."}]
    row = {"images": [CODE, CODE], "messages": messages}
    columns = {"input": "messages"}
    sample = single(tmp_path, row, columns, media_columns=["images"])
    assert 'no text contains a tag for the medium "image2"' in sample.fault


def test_a_sound_of_numbers_is_a_sound(tmp_path: Path) -> None:
    cell = {"array": [0.0, 0.5] * 400, "sampling_rate": 8000, "path": None}
    pq.write_table(pa.table({"sound": [cell]}), tmp_path / "test.parquet")
    columns = {"input": "{{ sound }} What is heard?"}
    (sample,) = rows_of(opened(tmp_path, columns))
    assert sample.input[0].content.media("audio")[0].mime == "audio/wav"
    assert sample.metadata == {}


@pytest.mark.parametrize(
    ("format", "file", "text"),
    [
        ("json", "d/qa.json", '[{"q": "Which?", "a": "oak"}]'),
        ("csv", "d/qa.csv", "q,a\nWhich?,oak\n"),
    ],
)
def test_a_format_is_read_from_the_files_that_are_named(
    tmp_path: Path, format: str, file: str, text: str
) -> None:
    write_files(tmp_path, {file: text})
    task = built(
        tmp_path,
        f"loader: datasets\ndataset_path: {format}\ntest_split: train\n"
        f"dataset_kwargs: {{data_files: {file}}}\ncolumns: {{input: q, reference: a}}",
    )
    (sample,) = rows_of(task.dataset())
    assert (sample.input[0].content.text, sample.references[0].text) == (
        "Which?",
        "oak",
    )


def test_a_folder_goes_before_the_format_of_its_name(tmp_path: Path) -> None:
    write_files(tmp_path, {"json/test.jsonl": '{"q": "Which?"}'})
    keys = "loader: datasets\ndataset_path: json\ncolumns: {input: q}"
    assert len(built(tmp_path, keys).dataset()) == 1


@pytest.mark.parametrize(
    ("options", "word"),
    [("{}", "data_files"), ("{data_files: ../qa.json}", "leads out")],
)
def test_a_format_needs_files_inside_the_folder_of_the_task(
    tmp_path: Path, options: str, word: str
) -> None:
    keys = (
        f"loader: datasets\ndataset_path: json\ndataset_kwargs: {options}\n"
        "columns: {input: q}"
    )
    with pytest.raises(UsageError, match=word):
        built(tmp_path, keys).dataset()


def test_a_format_points_to_its_loader(tmp_path: Path) -> None:
    task = built(tmp_path, "dataset_path: json")
    with pytest.raises(MissingDataError, match="loader: datasets"):
        task.dataset()


def test_an_index_in_a_tsv_stands_for_the_picture_of_its_row(tmp_path: Path) -> None:
    rows = f"index\timage\n2\t1\n1\t{CODE}\n3\t404\n"
    write_files(tmp_path, {"test.tsv": rows})
    dataset = opened(tmp_path, {"input": "image"}, media_columns=["image"])
    first, second, third = rows_of(dataset)
    assert first.input[0].content.media("image") == second.input[0].content.media()
    assert "404" in third.fault


@pytest.mark.parametrize("paths", [[], ["cell"]], ids=["a column", "of media"])
def test_a_text_in_place_of_the_bytes_of_a_file_stays_a_text(
    tmp_path: Path, paths: list[str]
) -> None:
    row = {"cell": {"bytes": "words", "path": "a.png"}}
    sample = single(tmp_path, row, {"input": "{{ cell }}"}, media_columns=paths)
    assert sample.input[0].content.text == "words"


@pytest.mark.parametrize("cell", [b"\x00\x01\x02", b"a text"])
def test_bytes_that_are_no_medium_are_not_written_into_a_text(
    tmp_path: Path, cell: bytes
) -> None:
    pq.write_table(pa.table({"q": ["Which?"], "x": [cell]}), tmp_path / "test.parquet")
    used, unused = (
        next(rows_of(opened(tmp_path, {"input": source})))
        for source in ("{{ q }} {{ x }}", "{{ q }}")
    )
    assert ("bytes" in used.fault, unused.fault) == (True, "")


def test_messages_are_the_input_where_columns_name_no_other(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Which?"}]
    sample = single(
        tmp_path, {"messages": messages, "answer": "oak"}, {"id": "q{{ 1 }}"}
    )
    assert (sample.id, sample.input[0].content.text) == ("q1", "Which?")
