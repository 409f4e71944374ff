"""Runs ``mmeval annotate``: prepares the trials, serves the page, and sums up."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mmeval.errors import EXIT_OK, RunLockedError, StorageError, UsageError
from mmeval.records.digests import digest
from mmeval.report.page.writer import names_of
from mmeval.results.stored_run import StoredRun, run_folder
from mmeval.store.lock import Lock, LockHeldError
from mmeval.system.signals import handled_by
from mmeval.trust.annotate.access import EVERYONE, Tokens
from mmeval.trust.annotate.ask_file import read_question
from mmeval.trust.annotate.assignments import SessionOptions
from mmeval.trust.annotate.blind_parts import BlindParts, OpaqueFiles
from mmeval.trust.annotate.material import MaterialFile
from mmeval.trust.annotate.metric_question import metric_questions
from mmeval.trust.annotate.precision import stop_at
from mmeval.trust.annotate.question import AnnotationQuestion
from mmeval.trust.annotate.server import Access, AnnotationServer, Completion
from mmeval.trust.annotate.session import Session, SessionParts, StopRule, never
from mmeval.trust.annotate.session_file import session_record
from mmeval.trust.annotate.trials import (
    AsksAboutSample,
    DrawOptions,
    FixedQuestion,
    TrialsToRate,
    paired_runs,
    single_trials,
)
from mmeval.trust.ratings_file import RatingsFile, ratings_path
from mmeval.trust.records import Rating, ScoreRow
from mmeval.trust.rows import read_ratings
from mmeval.trust.run_scores import scores_of_run

_LOCAL = frozenset({"127.0.0.1", "::1", "localhost"})
_EVERY_ADDRESS = frozenset({"0.0.0.0", "::", ""})


@dataclass(frozen=True)
class AnnotationOptions:
    """What is rated, the raters, and where the page is.

    Numbers that are None have their usual values. Either ``metric`` or ``ask`` states
    the question.
    """

    folders: tuple[Path, ...]
    metric: str = ""
    ask: Path | None = None
    gold: Path | None = None
    name: str = "people"
    tasks: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0
    strata: tuple[str, ...] = ()
    raters: tuple[str, ...] = ("rater",)
    overlap: int | None = None
    per_rater: int | None = None
    again: float = 0.0
    adjudicate: bool = False
    precision: float | None = None
    completion: Completion | None = None
    host: str = "127.0.0.1"
    port: int = 0


Show = Callable[[str], None]
"""Shows text to the person who runs the command."""


@dataclass(frozen=True)
class Annotation:
    """A session that is ready: what is rated, and the server of its page. ``path`` is
    the file of ratings."""

    trials: TrialsToRate
    session: Session
    server: AnnotationServer
    path: Path


def serve(options: AnnotationOptions, show: Show) -> int:
    """Serves the page until a signal ends it. Returns the exit code.

    Raises UsageError if the options do not fit the runs, or the port is in use.
    """
    with prepared(options) as annotation:
        show(_opening(options, annotation))
        _serve_until_signal(annotation.server)
        show(_closing(annotation.session))
    return EXIT_OK


@contextmanager
def prepared(options: AnnotationOptions) -> Iterator[Annotation]:
    """Prepares a session, which takes over earlier ratings, and its server.

    Raises UsageError like ``serve``.
    """
    session_options = _session_options(options)
    runs = [StoredRun(run_folder(folder)) for folder in options.folders]
    # ratings of the only run need not name it
    names = names_of(runs) if len(runs) > 1 else [""]
    named = list(zip(names, runs, strict=True))
    with ExitStack() as stack:
        for run in runs:
            stack.callback(run.close)
        material = stack.enter_context(MaterialFile())
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        question = None if options.ask is None else read_question(options.ask)
        trials = _trials(options, named, question, material)
        path = ratings_path(runs[0].folder, options.name)
        record = session_record(path.parent, _question_digest(options, trials))
        stack.callback(_locked(path.parent).close)
        file = stack.enter_context(RatingsFile(path))
        opaque = OpaqueFiles(record.secret)
        parts = {}
        for number, (name, run) in enumerate(named):
            folder = scratch / str(number)
            folder.mkdir()
            parts[name] = BlindParts(run.folder, folder, opaque)
        session = Session(
            SessionParts(trials.trials, material, parts, file, record.secret),
            session_options,
            clock=lambda: datetime.now(UTC),
            stop_rule=_stop_rule(options, trials, runs),
        )
        session.resume(read_ratings(path))
        access = Access(
            tokens=Tokens(record.secret),
            raters=options.raters,
            hosts=_own_names(options.host),
            completion=options.completion,
        )
        server = _server(options, session, access, opaque)
        stack.callback(server.server_close)
        yield Annotation(trials, session, server, path)


def _locked(folder: Path) -> Lock:
    """Returns the lock of a folder of ratings. Two servers would give the same trial
    away twice."""
    try:
        return Lock(folder / "lock")
    except LockHeldError as error:
        raise RunLockedError(
            f"{folder}: another process collects ratings ({error})"
        ) from None
    except OSError as error:
        raise StorageError(f"{folder}: cannot be locked ({error.strerror})") from None


def _session_options(options: AnnotationOptions) -> SessionOptions:
    count = len(options.raters)
    for flag, value in (
        ("--limit", options.limit),
        ("--overlap", options.overlap),
        ("--per_rater", options.per_rater),
    ):
        if value is not None and value < 1:
            raise UsageError(f"{flag} must be 1 or more, not {value}")
    if not 0 <= options.again <= 1:
        raise UsageError(f"--again must be from 0 to 1, not {options.again:g}")
    overlap = options.overlap
    if overlap is None:
        overlap = count
        if options.completion is not None:
            overlap = 1
        elif options.adjudicate:
            overlap = 2
    needed = overlap + 1 if options.adjudicate else overlap
    if options.completion is None and needed > count:
        raise UsageError(
            f"each answer needs {needed} raters, and --raters names {count}"
        )
    return SessionOptions(
        raters=() if options.completion else options.raters,
        overlap=overlap,
        again=options.again,
        adjudicate=options.adjudicate,
        per_rater=options.per_rater,
        seed=options.seed,
    )


def _trials(
    options: AnnotationOptions,
    runs: Sequence[tuple[str, StoredRun]],
    question: AnnotationQuestion | None,
    material: MaterialFile,
) -> TrialsToRate:
    draw = DrawOptions(options.tasks, options.limit, options.seed, options.strata)
    gold: list[Rating] = []
    if options.gold is not None:
        gold = read_ratings(options.gold)
    if question is not None and question.kind == "pair":
        if gold:
            raise UsageError("--gold does not work with pairs")
        return paired_runs(runs, question, draw, material)
    asked = []
    for name, run in runs:
        questions: Mapping[str, AsksAboutSample]
        if question is None:
            questions = metric_questions(run, options.metric)
        else:
            fixed = FixedQuestion(question)
            questions = {task.name: fixed for task in run.tasks}
        asked.append((name, run, questions))
    return single_trials(asked, draw, gold, material)


def _question_digest(options: AnnotationOptions, trials: TrialsToRate) -> str:
    """Returns the digest of what raters are asked, apart from the samples."""
    first = trials.trials[0].question
    if options.metric:
        return digest(["metric", options.metric])
    return digest([first.name, first.to_json()])


def _stop_rule(
    options: AnnotationOptions, trials: TrialsToRate, runs: Sequence[StoredRun]
) -> StopRule:
    if options.precision is None:
        return never
    rows: list[ScoreRow] = []
    if options.metric and len(runs) == 1:
        rated = {trial.task for trial in trials.trials}
        for row in scores_of_run(runs[0], [options.metric]):
            if row.task in rated:
                rows.append(row)
    return stop_at(options.precision, trials.trials, rows, options.metric)


def _own_names(host: str) -> frozenset[str]:
    names = {"localhost", host.lower()}
    if host in _EVERY_ADDRESS:
        names.add(socket.gethostname().lower())
    return frozenset(names)


def _server(
    options: AnnotationOptions, session: Session, access: Access, files: OpaqueFiles
) -> AnnotationServer:
    try:
        return AnnotationServer((options.host, options.port), session, access, files)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"the page cannot be served at {options.host}, port {options.port} "
            f"({error}); choose another --port or --host"
        ) from None


def _serve_until_signal(server: AnnotationServer) -> None:
    ended = threading.Event()
    with handled_by(lambda _number, _frame: ended.set()):
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        # a wait without a limit could not be interrupted on every system
        while not ended.wait(0.5):
            pass
        server.shutdown()
        thread.join()


def _opening(options: AnnotationOptions, annotation: Annotation) -> str:
    trials, session = annotation.trials, annotation.session
    server = annotation.server
    unit = "pairs" if trials.trials[0].a else "answers"
    lines = [
        f"{unit} to rate: {len(trials.trials):,}, ratings so far: {session.count:,}"
    ]
    if trials.without_answer:
        lines.append(f"left out: {trials.without_answer:,} without an answer")
    if trials.without_question:
        lines.append(f"left out: {trials.without_question:,} without a question")
    lines.append("")
    host = options.host
    if host in _EVERY_ADDRESS:
        host = socket.gethostname()
    base = f"http://{host}:{server.server_address[1]}"
    if options.completion is None:
        width = max(map(len, options.raters))
        for rater in options.raters:
            lines.append(f"  {rater:<{width}}  {base}{server.path_of(rater)}")
    else:
        placeholders = (
            "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}"
            "&SESSION_ID={{%SESSION_ID%}}"
        )
        lines.append(f"  {base}{server.path_of(EVERYONE)}{placeholders}")
    lines += ["", "A link is secret: anyone who has it can rate under its name."]
    if options.host not in _LOCAL:
        lines.append(
            f"The page is open to other machines, at {options.host}, and not encrypted."
        )
    if session.stopped:
        lines.append(f"Rating has ended: {session.stopped}.")
    lines += [f"Ratings are kept in {annotation.path}.", "Ctrl-C ends.", ""]
    return "\n".join(lines)


def _closing(session: Session) -> str:
    lines = ["", f"ratings: {session.count:,}"]
    if session.stopped:
        lines.append(f"ended: {session.stopped}")
    for rater, progress in sorted(session.raters.items()):
        line = f"  {rater}: {len(progress.at):,}"
        gold = session.gold_share(rater)
        if gold.share is not None:
            line += f", {gold.share:.0%} of {gold.rated:,} gold answers right"
            line += " (few)" if gold.is_low else ""
        lines.append(line)
    return "\n".join([*lines, ""])
