import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from mmeval.task.schema import REFUSED
from tests.support.tiny_media import picture, wav
from tests.support.words import DATA, TASK, TINY, Case, listed, shown

CHECK = "check t.yaml"
KEYS = {
    "values": listed("""
        generation_kwarg: {} | repeats: 0 | repeats: 1.5 | repeats: true | tag: 3 | tag: [a, 3] | tag: [a, a]
        dataset_name: 2024 | loader: | profile: oficial
    """),
    "kinds and parameters": listed("""
        missing_output: zero | output_modalities: [text, imag] | output_modalities: []
        input_modalities: [reasoning] | placeholders: [tags] | generation_kwargs: {temprature: 1}
        roles: {judge: {temprature: 1}} | roles: {judge: 1} | requires_mmeval: newest | requires_mmeval: '>=99'
    """),
    "prompts": listed("""
            prompt: {systm: x} | prompt: {function: f, user: x} | prompt: {} | prompt_fields: id
            prompt: {function: gone} | prompt: '{{ inptu }}' | prompt: '{{ answer }}'
            prompt: {system: '{% if %}'}
        """),
    "rendered prompts": (
        "prompt: {user: '{{ 1 / 0 }}'}",
        "prompt_fields: gone\nprompt: '{{ gone }}'",
    ),
    "programs": listed("""
        filter: {a: {b: 1}} | protocol: {answer: last} | protocol: singel
        protocol: {name: episode, anwser: x} | layout: mmgm | loader: interleavd | on: 1
    """),
    "what is expected": listed("""
        expected: {row: 3} | expected: {rows: -1} | expected: {rows: many} | expected: {media: {picture: 3}}
        expected: {files: {a.txt: abc}} | by_hand: [{path: /etc, source: x}] | by_hand: [{path: a, from: x}]
        by_hand: {path: a, source: x} | by_hand: [{path: a}]
    """),
    "data": listed("""
        dataset_kwargs: {trust_remote_code: true} | dataset_kwargs: {data_file: ../up.jsonl}
        dataset_name: ../up | dataset_kwargs: {data_fiel: x.jsonl}
        filter: {level: hard} | breakdown: level | cluster_key: levle
    """),
    "missing data": listed("""
        test_split: tset | dataset_name: absent | dataset_kwargs: {data_file: absent.jsonl}
    """),
    "samples": listed("""
        input_modalities: [image] | output_modalities: per_sample
    """),
    "an unused key": ("revision: main",),
    "includes": (
        *listed("include: gone.yaml | include: 2.yaml | include: ../x.yaml"),
        "include:\n  - 3",
    ),
    "numbers and tags of YAML": listed("""
        a: 010 | a: .nan | a: !function x.y | a: !!python/name:os.system | 7: x | a: no
    """),
    "the form of YAML": (
        *listed("a: [ | a: b: c | a: &a [*a] | 7"),
        "repeats: 1\nrepeats: 2",
        f"a: {'[' * 999}",
    ),
    "filters": (
        "filter_list: [{name: x, filter: [{function: regx}, {function: custom}]}]",
        "filter_list: [{name: x, filter: []}]",
        "filter_list: [{filter: [{function: take_first_k, k: 2}]}]",
    ),
    **{
        f"keys of other harnesses, {part}": tuple(
            f"{key}: x" for key in sorted(REFUSED)[8 * part : 8 * part + 8]
        )
        for part in range(4)
    },
}
"""Lines that task files end with, by topic. At most ten findings of a kind are
shown."""
ENTRIES = {
    "metrics": listed("""
        {metric: exact_mach} | {metric: exact_match, ignore_cas: true} | {metric: strict_structure, mode: uniqe}
        {metric: hf_evaluate, name: rouge, trust_remote_code: true} | {metric: exact_match, aggregation: maen}
        {metric: exact_match, aggregation: {name: mean, p: 1}}
        {metric: exact_match, aggregation: {name: mean, interval: x}} | {metrc: x} | exact_match
        {metric: x, aggregation: 3}
    """),
    "judges": listed("""
        {metric: exact_match}, {metric: exact_match, ignore_case: true} | {metric: judge_grade, asks: {juge: g}}
        {metric: judge_grade, asks: {judge: 'a b'}} | {metric: judge_grade, asks: gemini}
        {metric: exact_match, asks: {judge: gemini}} | {metric: rubric_judge, prompt: polit}
        {metric: judge_grade, levels: 0}
    """),
    "missing judges": listed("""
        {metric: judge_grade} | {metric: judge_grade, asks: {judge: gemini}}
    """),
    "numbers made of others": listed("""
        {metric: overall} | {metric: exact_match}, {metric: overall, of: [exact_mach]}
        {metric: overall, of: []} | {metric: overall, of: [overall]}
        {metric: exact_match}, {metric: overall, of: [exact_match, exact_match]}
        {metric: exact_match}, {metric: overall, of: exact_match} | {metric: overall, of: [exact_match]}
        {metric: wer}, {metric: exact_match}, {metric: overall, of: [wer, exact_match]}
        {metric: exact_match}, {metric: overall, of: [exact_match], combine: produkt}
    """),
}
GROUPS = {
    "members": (
        "task: []",
        "task: [3]",
        "task: [{repeats: 2}]",
        "task: [NAME]",
        "task: [tt]",
        "task: [t, {task: t, repeats: 9}]",
    ),
    "keys": (
        "task: [t]\nloader: x",
        "task: t\naggregate_metric_list: [{metric: m, weight: 1}]",
        "task: t\naggregate_metric_list: [{metric: exact}]",
        "task: t\naggregate_metric_list: [{metric: exact_match, aggregation: median}]",
        "task: t\nlayout: mmgm",
        "task: t\nexpected: {row: 1}",
    ),
}
WHOLE = {
    "no task": "repeats: 4\n",
    "no name": "task: a b\nmetadata: {version: 1}\n",
    "no version": "task: t\n",
}
GOOD = {"id": "0", "input": "q", "reference": "r"}
ROWS: dict[str, tuple[object, ...]] = {
    "columns": (
        {"id": "1"},
        {"inputs": "q"},
        ["x"],
        GOOD,
        {"input": "q"},
        {"input": "x", "references": "a", "id": "2"},
        {"input": "x", "references": ["a"], "reference": "a"},
        {"input": "x", "id": True},
        {"input": "x", "references": [{"type": "text", "text": "a"}]},
        {"input": "x", "refrence": "r"},
    ),
    "messages": (
        {"input": 3},
        {"input": [{"role": "usr", "content": "x"}]},
        {"input": [{"role": "tool", "content": "x"}]},
        {"input": [{"role": "user"}]},
        {"input": {"type": "text"}},
        {"input": [{"type": "text"}]},
        {"input": ["x"]},
        {"input": {"text": ["x"]}},
    ),
    "paths": (
        *(
            {"input": [{"type": "image", "path": path}]}
            for path in ("../secret.png", "/etc/passwd", "gone.png", "a\0b")
        ),
        {"input": [{"type": "image"}]},
        {"input": [{"type": "imag", "path": "a.png"}]},
        {"input": {"text": "x", "media": {"picture": "a.png"}}},
        {"input": {"text": "<<image1>>", "media": {"image1": 3}}},
        {"input": "x", "media": {"image1": "a.png"}},
    ),
    "media": (
        *(
            {"input": "<<image1>>", "media": {"image1": name}}
            for name in ("a.wav", "empty.png", "odd.bin", "torn.png")
        ),
        {"input": "<<audio1>>", "media": {"audio1": "torn.wav"}},
    ),
    "doubts": (
        {"input": "x", "reference": "r", "metadatas": {}},
        {"input": "<<image9>>"},
        {"input": "x", "reference": "a <<image1>>"},
    ),
}
"""Rows with a fault, by topic."""
MEDIA = {
    **{
        "rows/a.png": picture(),
        "rows/a.wav": wav(),
        "rows/empty.png": b"",
        "rows/odd.bin": b"\0\1\2",
    },
    **{
        "rows/torn.png": b"\x89PNG\r\n\x1a\n picture",
        "rows/torn.wav": b"RIFF\x04\0\0\0WAVE",
    },
}


def rows(faulty: Iterable[object]) -> str:
    """A good row and others, which have a reference unless nothing but that is
    amiss."""
    written: list[object] = [GOOD]
    for row in faulty:
        completed = row
        if (
            isinstance(row, dict)
            and not row.keys() & {"references", "refrence"}
            and row != {"input": "q"}
        ):
            completed = {"reference": "r", **row}
        written.append(completed)
    return "".join(f"{json.dumps(row)}\n" for row in written)


def together(texts: Iterable[str]) -> Case:
    """One command for files of these texts, in which NAME is their own."""
    files = {f"{i}.yaml": text for i, text in enumerate(texts, 1)}
    named = {
        file: text.replace("NAME", f"n{file[:-5]}") for file, text in files.items()
    }
    return Case(f"check {' '.join(files)}", {**TINY, **named})


OTHER = TASK.replace("task: t", "task: NAME")
LINES = ('{"a": 1', '{"a": NaN}', "[" * 9999)
RUBRIC = TASK.replace("exact_match", "rubric_judge")
JUDGE = "--judge openai,model=j --judge_base_url URL"
SAME = "".join(f'{{"input": "q{i}", "reference": "yes"}}\n' for i in range(3))
CASES = {
    "a sound task": Case(CHECK),
    "bounds": Case(
        "check t.yaml alike.yaml wrong.yaml --bounds",
        {
            **TINY,
            "alike.yaml": TASK.replace("task: t", "task: alike").replace(
                "rows", "same"
            ),
            "same/test.jsonl": SAME,
            "wrong.yaml": TASK.replace("task: t", "task: wrong").replace(
                "match}", "match, higher_is_better: false}"
            ),
        },
    ),
    "rows in CSV": Case(CHECK, {"t.yaml": TASK, "rows/test.csv": "input,reference\n"}),
    "a group": Case("check g.yaml", {**TINY, "g.yaml": "group: g\ntask: [t]\n"}),
    **{
        topic: together(f"{OTHER}{line}\n" for line in lines)
        for topic, lines in KEYS.items()
    },
    **{
        topic: together(
            OTHER.replace("{metric: exact_match}", entry) for entry in entries
        )
        for topic, entries in ENTRIES.items()
    },
    **{
        f"{topic} of a group": together(f"group: NAME\n{lines}\n" for lines in groups)
        for topic, groups in GROUPS.items()
    },
    **{name: Case(CHECK, {**TINY, "t.yaml": text}) for name, text in WHOLE.items()},
    **{
        f"rows, {topic}": Case(
            CHECK, {**TINY, **MEDIA, "rows/test.jsonl": rows(faulty)}
        )
        for topic, faulty in ROWS.items()
    },
    **{
        f"the row {line:.12}": Case(
            CHECK, {**TINY, "rows/test.jsonl": f"{DATA}{line}\n"}
        )
        for line in LINES
    },
    "many rows alike": Case(
        CHECK, {**TINY, "rows/test.jsonl": '{"input": "q"}\n' * 20}
    ),
    "rows without a label of the slices": Case(
        CHECK,
        {
            **{"t.yaml": f"{TASK}breakdown: [level]\n"},
            **{
                "rows/test.jsonl": f'{{"input": "a", "level": 1, "reference": "r"}}\n'
                f"{DATA}"
            },
        },
    ),
    "a misspelt output_modalities of a row": Case(
        CHECK,
        {
            "t.yaml": f"{TASK}output_modalities: per_sample\n",
            "rows/test.jsonl": '{"input": "q", "output_modalitys": ["text"], '
            '"reference": "r"}\n',
        },
    ),
    "a rubric that is misspelt": Case(
        f"{CHECK} {JUDGE}",
        {
            **TINY,
            "t.yaml": RUBRIC,
            "rows/test.jsonl": '{"input": "q", "rubrik": ["met?"]}\n',
        },
    ),
    "a rubric of no weight": Case(
        f"{CHECK} {JUDGE}",
        {
            "t.yaml": RUBRIC,
            "rows/test.jsonl": '{"input": "q", "rubric": [{"criterion": "met?", '
            '"weight": 0}]}\n',
        },
    ),
    "--limit 1": Case("check t.yaml --bounds --limit 1"),
    "a judge": Case(
        f"check rubric_example --bounds {JUDGE}", server={"reply": '{{"met": "yes"}}'}
    ),
    "a judge without verdicts": Case(
        f"check rubric_example --bounds {JUDGE}", server={"reply": "hmm"}
    ),
    "a judge that is lost": Case(
        f"check rubric_example --bounds {JUDGE},max_connections=1",
        server={"expire_after": 1},
    ),
    "a judge without a key": Case(
        "check rubric_example --judge openai,model=j", env={"OPENAI_API_KEY": ""}
    ),
    "three tasks with one fault of a template": Case(
        "check .",
        {
            **{
                "_base.yaml": RUBRIC.replace("task: t\n", ""),
                "rows/test.jsonl": '{"input": "q", "rubric": ["x"]}\n',
            },
            **{
                f"{name}.yaml": f"include: _base.yaml\ntask: {name}\n"
                for name in ("one", "two", "three")
            },
        },
    ),
    "a task whose data are missing": Case(
        CHECK, {"t.yaml": TASK.replace("rows", "./gone")}
    ),
    "a task of the hub with bundled samples": Case(
        CHECK,
        {"t.yaml": TASK.replace("rows", "me/absent"), "bundled/test.jsonl": DATA},
    ),
    "a model that gives no sound": Case(
        f"{CHECK} --model openai --model_args model=m,base_url=http://127.0.0.1:9/v1",
        {**TINY, "t.yaml": f"{TASK}output_modalities: [text, audio]\n"},
    ),
    "a model without a key": Case(
        f"{CHECK} --model openai --model_args model=m", env={"OPENAI_API_KEY": ""}
    ),
    "a captioner that takes no sound": Case(
        f"{CHECK} --judge empty --captioner "
        "openai,model=c,base_url=http://127.0.0.1:9/v1,inputs=text+image",
        {**TINY, "t.yaml": TASK.replace("exact_match", "semantic_correctness")},
    ),
    "no UTF-8": Case(CHECK, {**TINY, "t.yaml": b"a: 1\nb: \xff"}),
    "a control character": Case(CHECK, {**TINY, "t.yaml": b"a: \0"}),
    "a shard that is missing": Case(
        CHECK, {"t.yaml": TASK, "rows/test-2-of-4.jsonl": DATA}
    ),
    "no name": Case("check --dist"),
    "an unknown task": Case("check nothing-like-it"),
    "a misspelt task": Case("check unim_hrd"),
    "a file that is not there": Case("check gone/x.yaml"),
    "a folder without tasks": Case("check rows"),
    "--data bundled": Case("check t.yaml --data bundled"),
    "--include_path gone": Case("check t --include_path gone"),
    "--dist with a name": Case("check t.yaml --dist x.whl"),
    "--dist gone.whl": Case("check --dist gone.whl"),
    "--dist of what is no wheel": Case("check --dist a.whl", {"a.whl": "no wheel"}),
}


@pytest.mark.usefixtures("bounds_in_process")
@pytest.mark.parametrize("name", CASES)
def test_check(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot
