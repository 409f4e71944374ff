"""Table of the flags, for the parser, ``MMEVAL_<FLAG>``, ``--config`` and records."""

from __future__ import annotations

from typing import Any, NamedTuple

from mmeval.aggregate.statistics import BOOTSTRAP_ITERS
from mmeval.backend.agent.limits import MAX_CALLS
from mmeval.backend.batch_size import AUTO
from mmeval.metric.device import AUTO as AUTO_DEVICE
from mmeval.metric.profiles import PROFILES
from mmeval.records.score import REFUSALS
from mmeval.settings import values
from mmeval.settings.values import Reader


class Flag(NamedTuple):
    """One flag. ``to`` is the field for its value: ``options.x`` is ``RunOptions.x``,
    ``overrides.x`` is ``TaskOverrides.x``, and ``command.x`` controls the command line
    itself. ``default`` is the value of a flag that is not given. ``nargs`` is
    argparse's; ``repeatable`` flags may be given several times. A switch takes an
    optional ``true`` or ``false``, so that a flag can override a file."""

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


_WHAT = "what to run"
_DATA = "samples and prompts"
_SCORE = "scoring"
_WHERE = "where things go"
_HOW = "how to ask"
_SHOW = "what to show"

FLAGS: tuple[Flag, ...] = (
    Flag(
        "model",
        "M",
        _WHAT,
        values.text,
        "",
        "options.model",
        "backend to ask; 'mmeval ls backends' lists them",
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
        "tasks, groups, tags, globs or paths, separated by commas or blanks; or list, "
        "list_groups, "
        "list_subtasks, list_tags",
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
        "YAML file with flags as keys; flags given here win",
        "FILE",
    ),
    Flag(
        "limit",
        "L",
        _DATA,
        values.limit,
        None,
        "options.limit",
        "samples a task: a count, or a share below 1 (for testing only)",
        "N",
    ),
    Flag(
        "offset",
        "",
        _DATA,
        values.integer(0),
        0,
        "options.offset",
        "samples to leave out at the beginning of each task",
        "N",
    ),
    Flag(
        "samples",
        "E",
        _DATA,
        values.samples,
        {},
        "options.samples",
        "which samples: a JSON map of tasks to indices, as in "
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
        "with --limit: samples drawn at random by this seed, not the first ones; a "
        "larger limit keeps them",
        "SEED",
    ),
    Flag(
        "stratify",
        "",
        _DATA,
        values.words,
        (),
        "options.stratify",
        "with --limit: samples drawn in proportion to the values of these labels: "
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
        "ask every N-th chosen sample, beginning with the I-th: I/N, or auto (from "
        "SLURM, or RANK and WORLD_SIZE); "
        "'mmeval merge' makes the results",
        "I/N|auto",
    ),
    Flag(
        "repeats",
        "n",
        _DATA,
        values.integer(1),
        None,
        "overrides.repeats",
        "answers a sample (the task's own number)",
        "N",
    ),
    Flag(
        "seed",
        "",
        _DATA,
        values.seed,
        0,
        "options.seed",
        "seed of every request; of four values the first is used",
        "N",
    ),
    Flag(
        "gen_kwargs",
        "",
        _DATA,
        values.arguments,
        {},
        "overrides.gen_kwargs",
        "generation parameters that overrule the tasks': "
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
        "how samples are put to the model: text_then_media, independent_passes, "
        "single, ... (the task's own)",
        "NAME",
    ),
    Flag(
        "data",
        "",
        _DATA,
        values.text,
        "",
        "overrides.data",
        "bundled: use the few samples that ship with the tasks (the result is not "
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
        "folder that holds the tasks' data sets",
        "FOLDER",
    ),
    Flag(
        "profile",
        "",
        _SCORE,
        values.text,
        "",
        "overrides.profile",
        "standard: the published definition, its defects mended; official: the "
        "released script to the digit "
        "(the task's own)",
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
        "what an answer that the model refused is: scored, as any other; unscored: "
        "left out of the numbers, with bounds (scored)",
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
        "metrics to leave out",
        "METRIC",
        "+",
    ),
    Flag(
        "judge_prompts",
        "",
        _SCORE,
        values.path,
        None,
        "overrides.judge_prompts",
        "folder of prompts for the judge that replace ours: judge_grade.jinja, .md or "
        ".txt",
        "FOLDER",
    ),
    Flag(
        "trust_remote_code",
        "",
        _SCORE,
        values.switch,
        False,
        "overrides.trust_remote_code",
        "let metrics run code that a task file names (a folder, or another owner's on "
        "the hub), and a local model the "
        "code that comes with it",
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
        "ask, but do not score",
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
        "processes that score",
        "N",
    ),
    Flag(
        "metric_device",
        "",
        _SCORE,
        values.device,
        AUTO_DEVICE,
        "options.metric_device",
        "where the models of metrics go: auto (an accelerator of CUDA if there is "
        "one), cpu, cuda, cuda:1 or mps",
        "DEVICE",
    ),
    Flag(
        "reasoning_tags",
        "",
        _SCORE,
        values.reasoning_tags,
        ("<think>", "</think>"),
        "options.reasoning_tags",
        "tags around hidden reasoning, which is kept out of the answer; none: keep it "
        "in ('<think>,</think>')",
        "TAGS",
    ),
    Flag(
        "max_unscored",
        "",
        _SCORE,
        values.tolerated,
        0.0,
        "options.max_unscored",
        "failed or unscored trials that are tolerated (exit code 3 above): a count, "
        "or a share below 1",
        "N",
    ),
    Flag(
        "bootstrap_iters",
        "",
        _SCORE,
        values.draws,
        BOOTSTRAP_ITERS,
        "options.bootstrap_iters",
        "resamples for a number whose standard error has no formula, such as a "
        "median; 0: none (1000)",
        "N",
    ),
    Flag(
        "strict",
        "",
        _SCORE,
        values.switch,
        False,
        "options.strict",
        "a metric that cannot be computed here is an error",
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
        "name of the run's folder (default)",
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
        "begin anew; what was kept is set aside",
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
        "store of answers that runs share",
        "PATH",
    ),
    Flag(
        "log_samples",
        "s",
        _WHERE,
        values.switch,
        False,
        "command.log_samples",
        "write samples_<task>_<time>.jsonl",
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
        "write a page to look at the samples and the numbers, <run>/report/index.html "
        "(true)",
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
        "JSON object that is added to the results' config",
        "JSON",
    ),
    Flag(
        "wandb_args",
        "",
        _WHERE,
        values.arguments,
        {},
        "command.wandb_args",
        "log the results to Weights & Biases as well: arguments of wandb.init, as in "
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
        "log the results to trackio as well: arguments of trackio.init, as in "
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
        "hand the results to a logger that a package has registered; may be repeated",
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
        "backend that judges, as in openai,model=m; short for --role judge=...",
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
        "where the server of --judge is; its argument base_url",
        "URL",
    ),
    Flag(
        "captioner",
        "",
        _HOW,
        values.backend,
        None,
        "options.roles",
        "backend that describes media, as in openai,model=m; short for --role "
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
        "requests in flight at once (64)",
        "N",
    ),
    Flag(
        "retry_on_error",
        "",
        _HOW,
        values.integer(0),
        5,
        "options.retry_on_error",
        "times that a failed request is sent again (5)",
        "N",
    ),
    Flag(
        "budget_usd",
        "",
        _HOW,
        values.number,
        None,
        "options.budget_usd",
        "US dollars that the run folder may spend in all, judges and retries included",
        "USD",
    ),
    Flag(
        "budget_tokens",
        "",
        _HOW,
        values.integer(0),
        None,
        "options.budget_tokens",
        "tokens, in and out, that the run folder may spend in all",
        "N",
    ),
    Flag(
        "budget_calls",
        "",
        _HOW,
        values.integer(0),
        None,
        "options.budget_calls",
        "calls that the run folder may make in all, retries included",
        "N",
    ),
    Flag(
        "max_calls_per_answer",
        "",
        _HOW,
        values.integer(1),
        MAX_CALLS,
        "options.max_calls_per_answer",
        f"calls that an agent may make for one answer ({MAX_CALLS})",
        "N",
    ),
    Flag(
        "max_tokens_per_answer",
        "",
        _HOW,
        values.integer(1),
        None,
        "options.max_tokens_per_answer",
        "tokens, in and out, after which an agent makes no more calls for an answer",
        "N",
    ),
    Flag(
        "model_cost_config",
        "",
        _HOW,
        values.path,
        None,
        "options.model_cost_config",
        "YAML file with prices of models, over the list of genai-prices",
        "FILE",
    ),
    Flag(
        "batch_size",
        "b",
        _HOW,
        values.batch_size,
        AUTO,
        "options.batch_size",
        "largest batch of a local model; auto:N tries N times again what ran out of "
        "memory (auto)",
        "auto[:N]|N",
    ),
    Flag(
        "engine",
        "",
        _HOW,
        values.engine,
        None,
        "options.engine",
        "who answers batches of a local model: local (processes here), or actors of a "
        "Ray cluster, as in "
        "ray,workers=8,gpus=1 (also address=HOST:PORT, cpus, score_workers) (local)",
        "local|ray[,k=v]",
    ),
    Flag(
        "device",
        "",
        _HOW,
        values.text,
        "",
        "options.model",
        "where a local model runs, as in cuda:0 or cpu; its argument device",
        "DEVICE",
    ),
    Flag(
        "dry_run",
        "",
        _SHOW,
        values.switch,
        False,
        "command.dry_run",
        "forecast what the run would ask, send, cost and need, and end; nothing is "
        "loaded, sent or written",
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
        "text or json: what --dry_run prints (text)",
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
        "show the numbers of another run in a column beside these: its folder, or a "
        "results_*.json",
        "RUN",
    ),
    Flag(
        "table",
        "",
        _SHOW,
        values.text,
        "short",
        "command.table",
        "short: a line a task, and what is missing; full: all numbers in the columns "
        "of lm-evaluation-harness, and the "
        "tables of papers; none (short)",
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
        "print the first prompt of each task and go on",
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
        "print the resolved configuration and end",
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
        "the only metrics to compute; one that no task of the run lists is added to "
        "all of them",
        "METRIC",
        "+",
    ),
)
"""The flags that ``score`` alone has."""

BY_NAME = {flag.name: flag for flag in FLAGS}

REFUSED: dict[str, str] = {
    "apply_chat_template": "the backend applies its model's own chat template",
    "cache_requests": "prompts are made while requests are in flight, nothing needs a "
    "cache; --use_cache keeps answers",
    "check_integrity": "run 'mmeval check TASK' instead",
    "confirm_run_unsafe_code": "code of a model runs in the sandbox or not at all; "
    "see --role code_interpreter=sandbox",
    "fail_on_error": "a failed sample is counted and the run goes on; --max_unscored "
    "sets what is tolerated",
    "fewshot_as_multiturn": "prompts have no few-shot examples yet",
    "hf_hub_log_args": "results are not uploaded; they lie in --output_path",
    "log_samples_suffix": "the samples files carry the time of their results file; "
    "use --run_id to tell runs apart",
    "max_batch_size": "--batch_size N is the upper limit of a batch",
    "num_fewshot": "prompts have no few-shot examples yet; leave it out or write 0",
}
"""Flags of other harnesses that have no effect here: refused by name, with what to do
instead."""

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
"""Values of refused flags that change nothing, which are accepted."""

OTHER_VARIABLES = ("MMEVAL_LOG_LEVEL", "MMEVAL_CACHE_DIR", "MMEVAL_WEIGHTS_DIR")
"""Variables of mmeval without a flag."""
