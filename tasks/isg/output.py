"""The format ``isg``: answers in the files that ISG-Bench's scripts use.

For a scored run the judge file is also written.

    {"id": "0000", "Category": "Prediction", "Query": [...], "Golden": [...],
     "output": [{"type": "text", "content": "..."}, {"type": "image", "content": "outputs/0000_g1.png"}]}

outputs.jsonl                 the answers; judge files contain the same lines
outputs_0_<n>_judge.jsonl     the answers with the verdicts of the four levels
                              (:mod:`mmeval.tasks.isg.judge_file`)
outputs/<id>_g<n>             the pictures of the answers; media of other kinds are in
                              other/

An ``output`` that is null or missing counts as an empty answer, since the generation
failed. If the file of a block is missing, the block is kept without a medium. A block
of an unknown type becomes a picture with the type as ``raw``, and the answer gets a
warning. ``Query`` and ``Golden`` come from the data set. The answer gets a warning if
the texts of ``Query`` differ. Everything else is as in
:mod:`mmeval.interchange.row_layout`.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mmeval.errors import UsageError
from mmeval.interchange import (
    OWN,
    AnsweredRun,
    AnswerFormat,
    ExportSummary,
    FindMedium,
    MediaRoot,
    Row,
    RowAnswers,
    RowFolder,
    RowLayout,
    ScoredTrial,
    files_named,
    rows_of_lines,
)
from mmeval.media import MEDIA_KINDS, PART_KINDS, Interleaved, Media, Part, text_part
from mmeval.metrics.judged.isg.rows import CATEGORY, GRAPH
from mmeval.records import Sample
from mmeval.system.wording import listed
from mmeval.tasks.isg.judge_file import (
    SCORES,
    has_lost_verdict,
    is_judged,
    judge_file,
    judged,
)
from mmeval.tasks.isg.loader import PATHS

OUTPUTS = "outputs.jsonl"
MAX_NAMED = 3
"""Maximum number of odd blocks that a warning names."""
OTHER_QUERY = "the answer file has a different query for this id than the data set"
Block = Mapping[str, Any]


def read_output(path: Path, media_root: MediaRoot = ()) -> RowAnswers:
    """Reads the answers in a file, or in a folder with ``outputs.jsonl``.

    :class:`mmeval.interchange.MediaPaths` describes ``media_root``. Raises
    MissingDataError if there are no answers, and UsageError for a damaged file.
    """
    return RowAnswers(LAYOUT, path, media_root)


def write_output(run: AnsweredRun, folder: Path) -> ExportSummary:
    """Fills the folder of one model. Raises the errors of :meth:`ExportFolder.fill`."""
    return _IsgFolder(folder).fill(run)


def _query_of(sample: Sample) -> Interleaved:
    parts: list[Part] = []
    for message in sample.input:
        parts += message.content.parts
    return Interleaved(tuple(parts))


# --- reading --------------------------------------------------------------------------


def _answer(row: Row, find: FindMedium) -> Interleaved:
    parts: list[Part] = []
    for block in _blocks(row):
        kind, content = block.get("type"), block.get("content")
        path = content if isinstance(content, str) else None
        if kind not in PART_KINDS:
            parts.append(Part("image", raw=f"{kind!s:.40}"))
        elif kind == "text":
            parts.append(text_part(path or ""))
        elif kind in MEDIA_KINDS:
            parts.append(Part(kind, media=None if path is None else find(path)))
        else:
            parts.append(Part(kind, text=path or ""))
    return Interleaved(tuple(parts))


def _blocks(row: Row) -> list[Block]:
    blocks = row.get("output")
    if blocks is None:
        return []
    if isinstance(blocks, list) and all(isinstance(block, dict) for block in blocks):
        return blocks
    raise UsageError(f'"output" is {blocks!r:.80}; write a list of blocks, or null')


def _sealed(row: Row) -> list[list[Any]]:
    return [[block.get("type"), block.get("content")] for block in _blocks(row)]


def _warnings(row: Row, sample: Sample) -> list[str]:
    warnings = []
    row_query = row.get("Query")
    if isinstance(row_query, list):
        row_texts = []
        for block in row_query:
            if isinstance(block, dict) and block.get("type") == "text":
                row_texts.append(block.get("content"))
        query = _query_of(sample).parts
        data_texts = [part.text or "" for part in query if part.kind == "text"]
        if [text for text in row_texts if isinstance(text, str)] != data_texts:
            warnings.append(OTHER_QUERY)
    odd = []
    for block in _blocks(row):
        kind, content = block.get("type"), block.get("content")
        if kind not in PART_KINDS:
            odd.append(f"a block of the unknown type {kind!r:.40}")
        elif kind in MEDIA_KINDS and not isinstance(content, str | None):
            odd.append(f"{content!r:.80} is not a path")
    if odd:
        warnings.append(listed(odd, MAX_NAMED))
    return warnings


# --- writing --------------------------------------------------------------------------


def _row(
    sample: Sample, output: Interleaved | None, files: Mapping[str, str]
) -> dict[str, Any]:
    golden = sample.references[0] if sample.references else Interleaved()
    row = {
        "id": sample.id,
        "Category": sample.metadata[CATEGORY],
        "Query": _blocks_of_data(_query_of(sample), sample, "Query"),
        "Golden": _blocks_of_data(golden, sample, "Golden"),
        "output": None,
    }
    if output is not None:
        blocks = []
        for part in output.parts:
            if part.kind != "reasoning":
                file = None if part.media is None else files[part.media.sha256]
                blocks.append({"type": part.kind, "content": file or part.text})
        row["output"] = blocks
    return row


def _blocks_of_data(
    content: Interleaved,
    sample: Sample,
    key: str,
) -> list[Block]:
    """Returns blocks in the form of the data, with the data's paths for pictures."""
    paths = iter(sample.metadata[PATHS].get(key, ()))
    blocks: list[Block] = []
    for part in content.parts:
        text = (part.text or "") if part.media is None else next(paths, "")
        blocks.append({"type": part.kind, "content": text})
    return blocks


LAYOUT = RowLayout(
    files=partial(files_named, OUTPUTS),
    rows=rows_of_lines,
    file_of=lambda _: OUTPUTS,
    labels=frozenset({CATEGORY, GRAPH, PATHS}),
    answer=_answer,
    row=_row,
    sealed=_sealed,
    warnings=_warnings,
    pictures="outputs/{}_g{}",
    media="other/{}_g{}",
)


GAPS = {
    "unjudged": "not scored on all four levels, so not in the judge file",
    "null": "a verdict is lost, so it is null in the judge file; the released script "
    "leaves it out or counts it as no or 1",
}
NOTES = {
    "exact": f"they also have parts that are not texts or pictures, kept under {OWN!r}",
    "repeats": "second and later answers to a question, in outputs_repeat<n>.jsonl",
}


class _IsgFolder(RowFolder):
    """The answers of a run, and the judge file if the run is scored."""

    layout = LAYOUT
    benchmark = "ISG-Bench"
    entry = "line"
    scored = True
    unanswered = f"the output is null, with the reason under {OWN!r}"
    gaps = GAPS
    notes = NOTES

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._judged: dict[str, dict[str, dict[str, Any]]] = {}

    def add(self, scored: ScoredTrial) -> None:
        super().add(scored)
        self.again(scored)

    def again(self, scored: ScoredTrial) -> None:
        trial = scored.trial
        if trial.output is None or not scored.scores.keys() & set(SCORES):
            return
        if not is_judged(scored):
            self.counts["unjudged"] += 1
            return
        self.counts["null"] += has_lost_verdict(scored)
        name = self.file_of(trial)
        row = self.rows[name][trial.sample.id]
        lines = self._judged.setdefault(name, {})
        lines[trial.sample.id] = judged(scored, row)

    def finish(self) -> Sequence[str]:
        for name, rows in self._judged.items():
            file = judge_file(name, len(self.rows[name]))
            self.write_lines(file, rows.values())
        return super().finish()

    def is_given_back(
        self, row: Row, output: Interleaved, media: Mapping[str, Media]
    ) -> bool:
        # The scripts only know texts and media. Other blocks are also kept exactly.
        for part in output.parts:
            if part.kind != "text" and part.media is None:
                return False
        return super().is_given_back(row, output, media)


FORMAT = AnswerFormat(
    about="The answer files of ISG-Bench's scripts; a scored run also has their judge "
    "file.",
    read=read_output,
    write=write_output,
)
