"""Reads and writes answers in the file layouts of benchmarks."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.interchange.contract import (
        MANIFEST,
        AnsweredRun,
        AnsweredTask,
        AnswerFormat,
        AnswerPlace,
        ExportSummary,
        MissingAnswer,
        ScoredTrial,
        StoredAnswer,
        open_answers,
    )
    from mmeval.interchange.export_folder import ExportFolder, stem_of
    from mmeval.interchange.media_paths import (
        MEDIA_ROOT,
        MediaPaths,
        MediaRoot,
        missing_remarks,
        path_below,
    )
    from mmeval.interchange.recorded import error_of, kinds_of
    from mmeval.interchange.row_answers import RowAnswers
    from mmeval.interchange.row_folder import RowFolder
    from mmeval.interchange.row_layout import (
        AnswerFile,
        FindMedium,
        PlacedRow,
        Row,
        RowLayout,
        files_named,
        repeat_of,
        rows_of_lines,
        rows_of_list,
    )
    from mmeval.interchange.sidecar import (
        DAMAGED,
        MAX_MEDIUM_BYTES,
        OWN,
        exact_files,
        exact_part,
        exact_parts,
        files_digest,
        medium_inside,
        model_of,
        own_of,
        read_manifest,
    )
    from mmeval.interchange.spool import LineSpan, TemporaryLines
    from mmeval.system.foreign_lines import line_at, lines_of

__all__ = [
    "DAMAGED",
    "MANIFEST",
    "MAX_MEDIUM_BYTES",
    "MEDIA_ROOT",
    "OWN",
    "AnswerFile",
    "AnswerFormat",
    "AnswerPlace",
    "AnsweredRun",
    "AnsweredTask",
    "ExportFolder",
    "ExportSummary",
    "FindMedium",
    "LineSpan",
    "MediaPaths",
    "MediaRoot",
    "MissingAnswer",
    "PlacedRow",
    "Row",
    "RowAnswers",
    "RowFolder",
    "RowLayout",
    "ScoredTrial",
    "StoredAnswer",
    "TemporaryLines",
    "error_of",
    "exact_files",
    "exact_part",
    "exact_parts",
    "files_digest",
    "files_named",
    "kinds_of",
    "line_at",
    "lines_of",
    "medium_inside",
    "missing_remarks",
    "model_of",
    "open_answers",
    "own_of",
    "path_below",
    "read_manifest",
    "repeat_of",
    "rows_of_lines",
    "rows_of_list",
    "stem_of",
]

__getattr__, __dir__ = door(__name__)
