"""All flags, as used by the parser, ``MMEVAL_<FLAG>``, ``--config`` and records."""

from __future__ import annotations

from typing import Any, NamedTuple

from mmeval.aggregate.statistics import BOOTSTRAP_ITERS
from mmeval.backend.agent.limits import MAX_CALLS
from mmeval.backend.batch_size import AUTO
from mmeval.broker.checks.patience import PATIENCE
from mmeval.metric.device import AUTO as AUTO_DEVICE
from mmeval.metric.profiles import PROFILES
from mmeval.records.score import REFUSALS
from mmeval.settings import values
from mmeval.settings.values import Reader


class Flag(NamedTuple):
    """One flag.

    - ``to``: the field that receives the value: ``options.x`` of ``RunOptions``,
      ``overrides.x`` of ``TaskOverrides``, or ``command.x`` for the command line
      itself.
    - ``default``: the value if the flag is not given.
    - ``nargs``: as in argparse. A switch accepts an optional ``true`` or ``false``, so
      that the command line can override a file.
    - ``repeatable``: True if the flag may be given several times.
    """

    name: str
    short: str
    heading: str
    read: Reader
    default: Any
    to: str
    help: str
    metavar: str = "VALUE"
    nargs: str | None = None
    repeatable: bool = False
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        return f"MMEVAL_{self.name.upper()}"


_WHAT = "model and tasks"
_DATA = "samples and prompts"
_SCORE = "scoring"
_WHERE = "output"
_HOW = "roles, requests and costs"
_SHOW = "display"

FLAGS: tuple[Flag, ...] = (
    Flag(
        "model",
        "M",
        _WHAT,
        values.text,
        "",
        "options.model",
        "backend of the model; 'mmeval ls backends' lists them",
        "NAME",
    ),
    Flag(
        "model_args",
        "a",
        _WHAT,
        values.arguments,
        {},
        "options.model",
        "arguments of the backend: k=v,k2=v2, a JSON object, or a YAML file",
        "ARGS",
        "+",
    ),
    Flag(
        "tasks",
        "t",
        _WHAT,
        values.words,
        (),
        "command.tasks",
        "tasks, groups, tags, globs or paths, separated by commas or spaces; or list, "
        "list_groups, list_subtasks, list_tags",
        "TASK",
        "+",
    ),
    Flag(
        "include_path",
        "",
        _WHAT,
        values.paths,
        (),
        "command.include_path",
        "folder with more task files; may be repeated",
        "FOLDER",
        None,
        True,
    ),
    Flag(
        "config",
        "C",
        _WHAT,
        values.path,
        None,
        "command.config",
        "YAML file with flags as keys; flags on the command line override it",
        "FILE",
    ),
    Flag(
        "only",
        "",
        _WHAT,
        values.texts,
        (),
        "command.only",
        "run only this model of the file's models; may be repeated",
        "NAME",
        None,
        True,
    ),
    Flag(
        "jobs",
        "",
        _WHAT,
        values.integer(1),
        1,
        "command.jobs",
        "number of the file's models that run side by side (1)",
        "N",
    ),
    Flag(
        "limit",
        "L",
        _DATA,
        values.limit,
        None,
        "options.limit",
        "samples per task: a count, or a share below 1 (for testing only)",
        "N",
    ),
    Flag(
        "offset",
        "",
        _DATA,
        values.integer(0),
        0,
        "options.offset",
        "samples to skip at the beginning of each task",
        "N",
    ),
    Flag(
        "samples",
        "E",
        _DATA,
        values.samples,
        {},
        "options.samples",
        "samples to use: a JSON map of tasks to indices, as in "
        """'{"task": [0, 5]}'; not together with --limit""",
        "JSON",
    ),
    Flag(
        "sample_shuffle",
        "",
        _DATA,
        values.integer(0),
        None,
        "options.sample_shuffle",
        "with --limit: draw the samples at random with this seed; a larger limit "
        "includes them",
        "SEED",
    ),
    Flag(
        "stratify",
        "",
        _DATA,
        values.words,
        (),
        "options.stratify",
        "with --limit: draw the samples in proportion to the values of these labels: "
        "domain,difficulty",
        "LABEL",
        "+",
    ),
    Flag(
        "shard",
        "",
        _DATA,
        values.shard,
        None,
        "options.shard",
        "run every N-th chosen sample, starting with the I-th: I/N, or auto (from "
        "SLURM, or RANK and WORLD_SIZE); 'mmeval merge' computes the results",
        "I/N|auto",
    ),
    Flag(
        "repeats",
        "n",
        _DATA,
        values.integer(1),
        None,
        "overrides.repeats",
        "answers per sample (default: set by the task)",
        "N",
    ),
    Flag(
        "seed",
        "",
        _DATA,
        values.seed,
        0,
        "options.seed",
        "seed of the requests; if four values are given, only the first is used",
        "N",
    ),
    Flag(
        "gen_kwargs",
        "",
        _DATA,
        values.arguments,
        {},
        "overrides.gen_kwargs",
        "generation parameters that override those of the tasks: "
        "temperature=0.5,max_tokens=512",
        "ARGS",
        "+",
    ),
    Flag(
        "system_instruction",
        "",
        _DATA,
        values.text,
        "",
        "overrides.system_instruction",
        "system message before every prompt",
        "TEXT",
    ),
    Flag(
        "protocol",
        "",
        _DATA,
        values.text,
        "",
        "overrides.protocol",
        "how requests to the model are made: text_then_media, independent_passes, "
        "single, ... (default: set by the task)",
        "NAME",
    ),
    Flag(
        "data",
        "",
        _DATA,
        values.text,
        "",
        "overrides.data",
        "bundled: use the few samples included in the tasks (results are not "
        "comparable)",
        "SOURCE",
        choices=("", "bundled"),
    ),
    Flag(
        "data_dir",
        "",
        _DATA,
        values.path,
        None,
        "overrides.data_dir",
        "folder with the data sets of the tasks",
        "FOLDER",
    ),
    Flag(
        "profile",
        "",
        _SCORE,
        values.text,
        "",
        "overrides.profile",
        "standard: the published definition with its defects fixed; official: the same "
        "results as the released script (default: set by the task)",
        "NAME",
        choices=("", *PROFILES),
    ),
    Flag(
        "refusals",
        "",
        _SCORE,
        values.text,
        "",
        "overrides.refusals",
        "how to treat refused answers: scored (like any other), or unscored (left out "
        "of the results, with bounds) (scored)",
        "WORD",
        choices=("", *REFUSALS),
    ),
    Flag(
        "metric_args",
        "",
        _SCORE,
        values.switches,
        {},
        "overrides.metric_args",
        "switches of metrics: a JSON map of metrics to switches, as in "
        """'{"metric": {"switch": true}}'""",
        "JSON",
    ),
    Flag(
        "skip_metric",
        "",
        _SCORE,
        values.words,
        (),
        "overrides.skip_metric",
        "metrics to skip",
        "METRIC",
        "+",
    ),
    Flag(
        "prompts",
        "",
        _SCORE,
        values.text,
        "",
        "overrides.prompts",
        "words of the prompts of tasks, judges, protocols and agents: own, released "
        "(the authors' words, see mmeval prepare --prompts), or a folder (own)",
        "WORDS",
    ),
    Flag(
        "judge_prompts",
        "",
        _SCORE,
        values.path,
        None,
        "overrides.judge_prompts",
        "folder of prompts for the judge that replace the default ones: "
        "judge_grade.jinja, .md or .txt",
        "FOLDER",
    ),
    Flag(
        "trust_remote_code",
        "",
        _SCORE,
        values.switch,
        False,
        "overrides.trust_remote_code",
        "allow metrics to run code named in a task file (a folder, or a repository on "
        "the hub), and a local model to run its own code",
        "BOOL",
        "?",
    ),
    Flag(
        "predict_only",
        "x",
        _SCORE,
        values.switch,
        False,
        "options.predict_only",
        "request answers, but do not score them",
        "BOOL",
        "?",
    ),
    Flag(
        "score_workers",
        "",
        _SCORE,
        values.integer(0),
        1,
        "options.score_workers",
        "number of processes that score",
        "N",
    ),
    Flag(
        "metric_device",
        "",
        _SCORE,
        values.device,
        AUTO_DEVICE,
        "options.metric_device",
        "device of the models of metrics: auto (CUDA if available), cpu, cuda, cuda:1 "
        "or mps",
        "DEVICE",
    ),
    Flag(
        "reasoning_tags",
        "",
        _SCORE,
        values.reasoning_tags,
        ("<think>", "</think>"),
        "options.reasoning_tags",
        "tags around hidden reasoning, which is removed from answers; none keeps it "
        "('<think>,</think>')",
        "TAGS",
    ),
    Flag(
        "max_unscored",
        "",
        _SCORE,
        values.tolerated,
        0.0,
        "options.max_unscored",
        "maximum number of failed or unscored trials: a count, or a share below 1; if "
        "there are more, the exit code is 3",
        "N",
    ),
    Flag(
        "bootstrap_iters",
        "",
        _SCORE,
        values.draws,
        BOOTSTRAP_ITERS,
        "options.bootstrap_iters",
        "bootstrap resamples for results whose standard error has no formula, such as "
        "medians; 0 for none (1000)",
        "N",
    ),
    Flag(
        "probe",
        "",
        _SCORE,
        values.probing,
        "auto",
        "options.probe",
        "ask servers whether they read the media of the tasks and enforce JSON: true, "
        "false, full (also what they give, seeds and parameters), or auto: true from 3 "
        "trials (auto)",
        "WORD",
    ),
    Flag(
        "judge_patience",
        "",
        _SCORE,
        values.integer(0),
        PATIENCE,
        "options.judge_patience",
        f"stop a metric if its first N verdicts are unreadable; 0: never ({PATIENCE})",
        "N",
    ),
    Flag(
        "strict",
        "",
        _SCORE,
        values.switch,
        False,
        "options.strict",
        "fail if a metric is unavailable",
        "BOOL",
        "?",
    ),
    Flag(
        "output_path",
        "o",
        _WHERE,
        values.path,
        values.path("runs"),
        "options.output_path",
        "folder of all runs (./runs)",
        "FOLDER",
    ),
    Flag(
        "run_id",
        "",
        _WHERE,
        values.text,
        "",
        "options.run_id",
        "name of the run folder (default)",
        "NAME",
    ),
    Flag(
        "model_tag",
        "",
        _WHERE,
        values.text,
        "",
        "options.model_tag",
        "name of the model in folders and tables",
        "NAME",
    ),
    Flag(
        "fresh",
        "",
        _WHERE,
        values.switch,
        False,
        "options.fresh",
        "start a new run; the old one is renamed",
        "BOOL",
        "?",
    ),
    Flag(
        "use_cache",
        "c",
        _WHERE,
        values.path,
        None,
        "options.use_cache",
        "cache of answers shared by runs",
        "PATH",
    ),
    Flag(
        "log_samples",
        "s",
        _WHERE,
        values.switch,
        False,
        "command.log_samples",
        "write the samples to samples_<task>_<time>.jsonl",
        "BOOL",
        "?",
    ),
    Flag(
        "report",
        "",
        _WHERE,
        values.switch,
        True,
        "command.report",
        "write a report page with samples and results, <run>/report/index.html (true)",
        "BOOL",
        "?",
    ),
    Flag(
        "metadata",
        "",
        _WHERE,
        values.json_object,
        {},
        "command.metadata",
        "JSON object to add to the config of the results",
        "JSON",
    ),
    Flag(
        "wandb_args",
        "",
        _WHERE,
        values.arguments,
        {},
        "command.wandb_args",
        "also log the results to Weights & Biases: arguments of wandb.init, as in "
        "project=p,name=n",
        "ARGS",
        "+",
    ),
    Flag(
        "trackio_args",
        "",
        _WHERE,
        values.arguments,
        {},
        "command.trackio_args",
        "also log the results to trackio: arguments of trackio.init, as in "
        "project=p,name=n",
        "ARGS",
        "+",
    ),
    Flag(
        "logger",
        "",
        _WHERE,
        values.loggers,
        {},
        "command.logger",
        "pass the results to a logger registered by a package; may be repeated",
        "NAME[,k=v]",
        None,
        True,
    ),
    Flag(
        "role",
        "",
        _HOW,
        values.roles,
        {},
        "options.roles",
        "backend of a role, as in judge=openai,model=m or judge=FILE.yaml; may be "
        "repeated",
        "NAME=BACKEND[,k=v]",
        None,
        True,
    ),
    Flag(
        "judge",
        "",
        _HOW,
        values.backend,
        None,
        "options.roles",
        "backend of the judge, as in openai,model=m; short for --role judge=...",
        "BACKEND[,k=v]",
    ),
    Flag(
        "judge_args",
        "",
        _HOW,
        values.arguments,
        {},
        "options.roles",
        "more arguments of --judge: k=v,k2=v2, a JSON object, or a YAML file",
        "ARGS",
        "+",
    ),
    Flag(
        "judge_base_url",
        "",
        _HOW,
        values.text,
        "",
        "options.roles",
        "address of the server of --judge; its argument base_url",
        "URL",
    ),
    Flag(
        "captioner",
        "",
        _HOW,
        values.backend,
        None,
        "options.roles",
        "backend of the captioner, as in openai,model=m; short for --role "
        "captioner=...",
        "BACKEND[,k=v]",
    ),
    Flag(
        "max_connections",
        "",
        _HOW,
        values.integer(1),
        64,
        "options.max_connections",
        "maximum number of concurrent requests (64)",
        "N",
    ),
    Flag(
        "retry_on_error",
        "",
        _HOW,
        values.integer(0),
        5,
        "options.retry_on_error",
        "maximum number of retries per request (5)",
        "N",
    ),
    Flag(
        "budget_usd",
        "",
        _HOW,
        values.number,
        None,
        "options.budget_usd",
        "maximum cost of the run folder in US dollars, judges and retries included",
        "USD",
    ),
    Flag(
        "budget_tokens",
        "",
        _HOW,
        values.integer(0),
        None,
        "options.budget_tokens",
        "maximum number of input and output tokens of the run folder",
        "N",
    ),
    Flag(
        "budget_calls",
        "",
        _HOW,
        values.integer(0),
        None,
        "options.budget_calls",
        "maximum number of calls of the run folder, retries included",
        "N",
    ),
    Flag(
        "max_calls_per_answer",
        "",
        _HOW,
        values.integer(1),
        MAX_CALLS,
        "options.max_calls_per_answer",
        f"maximum number of calls of an agent per answer ({MAX_CALLS})",
        "N",
    ),
    Flag(
        "max_tokens_per_answer",
        "",
        _HOW,
        values.integer(1),
        None,
        "options.max_tokens_per_answer",
        "input and output tokens after which an agent makes no more calls per answer",
        "N",
    ),
    Flag(
        "model_cost_config",
        "",
        _HOW,
        values.path,
        None,
        "options.model_cost_config",
        "YAML file with prices of models; overrides the prices of genai-prices",
        "FILE",
    ),
    Flag(
        "batch_size",
        "b",
        _HOW,
        values.batch_size,
        AUTO,
        "options.batch_size",
        "maximum batch size of a local model; auto:N retries up to N times after "
        "running out of memory (auto)",
        "auto[:N]|N",
    ),
    Flag(
        "engine",
        "",
        _HOW,
        values.engine,
        None,
        "options.engine",
        "where a local model runs: local (processes on this machine), or the actors of "
        "a Ray cluster, as in ray,workers=8,gpus=1 (also address=HOST:PORT, cpus, "
        "score_workers) (local)",
        "local|ray[,k=v]",
    ),
    Flag(
        "device",
        "",
        _HOW,
        values.text,
        "",
        "options.model",
        "device of a local model, such as cuda:0 or cpu; same as its argument device",
        "DEVICE",
    ),
    Flag(
        "dry_run",
        "",
        _SHOW,
        values.switch,
        False,
        "command.dry_run",
        "forecast the requests, costs and requirements of the run, and exit; nothing "
        "is loaded, sent or written",
        "BOOL",
        "?",
    ),
    Flag(
        "format",
        "",
        _SHOW,
        values.text,
        "",
        "command.format",
        "output format of --dry_run: text or json (text)",
        "FORMAT",
        choices=("", "text", "json"),
    ),
    Flag(
        "baseline",
        "",
        _SHOW,
        values.path,
        None,
        "command.baseline",
        "folder or results_*.json of another run, whose results are shown in a column",
        "RUN",
    ),
    Flag(
        "table",
        "",
        _SHOW,
        values.text,
        "short",
        "command.table",
        "short: one line per task, and what is missing; full: all results in the "
        "columns of lm-evaluation-harness, and the tables of papers; none (short)",
        "FORM",
        choices=("short", "full", "none"),
    ),
    Flag(
        "write_out",
        "w",
        _SHOW,
        values.switch,
        False,
        "command.write_out",
        "print the first prompt of each task",
        "BOOL",
        "?",
    ),
    Flag(
        "show_config",
        "",
        _SHOW,
        values.switch,
        False,
        "command.show_config",
        "print the resolved configuration and exit",
        "BOOL",
        "?",
    ),
    Flag(
        "verbosity",
        "v",
        _SHOW,
        values.level,
        "INFO",
        "command.verbosity",
        "log level: DEBUG, INFO, WARNING or ERROR (also MMEVAL_LOG_LEVEL)",
        "LEVEL",
    ),
)
"""All flags of ``run``, in the order of the help."""

SCORE_FLAGS: tuple[Flag, ...] = (
    Flag(
        "metrics",
        "",
        _SCORE,
        values.words,
        (),
        "command.metrics",
        "compute only these metrics; a metric that no task of the run lists is added "
        "to all tasks",
        "METRIC",
        "+",
    ),
    Flag(
        "sample",
        "",
        _SCORE,
        values.integer(1),
        None,
        "command.sample",
        "score only the answers to this many samples, drawn at random, so that a judge "
        "is asked less",
        "N",
    ),
    Flag(
        "judge_archive",
        "",
        _SCORE,
        values.switch,
        False,
        "command.judge_archive",
        "keep the verdicts next to those of the run's judge, and leave its numbers as "
        "they are",
        "BOOL",
        "?",
    ),
)
"""Flags of ``score`` only."""

BY_NAME = {flag.name: flag for flag in FLAGS}

REFUSED: dict[str, str] = {
    "apply_chat_template": "the backend applies the chat template of its model",
    "cache_requests": "prompts are made while requests are running and need no cache; "
    "--use_cache caches answers",
    "check_integrity": "run 'mmeval check TASK' instead",
    "confirm_run_unsafe_code": "code that a model writes runs only in the sandbox; see "
    "--role code_interpreter=sandbox",
    "fail_on_error": "the run counts failed samples and continues; --max_unscored "
    "limits their number",
    "fewshot_as_multiturn": "prompts have no few-shot examples yet",
    "hf_hub_log_args": "results are not uploaded; they are in --output_path",
    "log_samples_suffix": "samples files are named after the time of their results "
    "file; use --run_id to distinguish runs",
    "max_batch_size": "--batch_size N is the maximum batch size",
    "num_fewshot": "prompts have no few-shot examples yet; leave it out or write 0",
}
"""Flags of other harnesses that mmeval rejects, each with what to do instead."""

REFUSED_SHORT = {"f": "num_fewshot"}

HARMLESS: dict[str, tuple[str, ...]] = {
    "num_fewshot": ("0", "none"),
    **dict.fromkeys(
        (
            "apply_chat_template",
            "check_integrity",
            "confirm_run_unsafe_code",
            "fail_on_error",
        ),
        ("false",),
    ),
    "fewshot_as_multiturn": ("false",),
}
"""Values of rejected flags that are accepted, because they change nothing."""

OTHER_VARIABLES = ("MMEVAL_LOG_LEVEL", "MMEVAL_CACHE_DIR", "MMEVAL_WEIGHTS_DIR")
"""Environment variables of mmeval that do not correspond to a flag."""
