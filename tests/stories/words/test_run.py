import errno
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from mmeval.cli import verbs
from mmeval.cli.verbs import REFUSED_VERBS
from tests.support.cli import KEY
from tests.support.words import DATA, RUN, TASK, TINY, Case, listed, shown

OPENAI = f"{RUN} --model openai --model_args base_url=URL,model=m"
JUDGED = {**TINY, "t.yaml": TASK.replace("exact_match", "judge_grade")}
PRICES = {**TINY, "prices.yaml": "models: {m: {input: 1000, output: 1000}}\n"}
FLAGS = (
    *listed("""
        --limt 3 | --gemini openai | --limit | --limit abc | --limit 1.5 | --max_unscored 2.5 | --offset 99
        --samples '{"t": [9]}' | --samples '{"u": [0]}' | --samples '{"t": 1}' | --samples t
        --samples '{"t": [0]}' --limit 1 | --sample_shuffle 1 | --limit 1 --stratify levle | --seed 7,8,1234,1234
        --seed x | --repeats 70000 | --gen_kwargs temprature=1 | --gen_kwargs a | --gen_kwargs max_tokens=2.9
        --gen_kwargs temperature=-1 | --gen_kwargs top_p=1.5 | --strict=maybe | --protocol text_then_medium
        --profile oficial | --metric_args '{"exact_match": 1}' | --metric_args '{"exact_mach": {}}'
        --skip_metric exact_mtch | --judge_prompts gone | --logger a,b | --reasoning_tags '<think>'
        --bootstrap_iters 7 | --metadata '{"limit": 1}' | --metadata '{"a": NaN}' | --verbosity LOUD
        --wandb_args project=p --logger wandb | --logger wanb | --role judge | --role judge=
        --role judge=empty --role judge=empty | --role model=empty | --judge empty | --judge_args a=1
        --judge empty --role judge=empty | --judge ,model=a | --judge openai,model=a --judge_args model=b
        --captioner notting | --retry_on_error 1.5 | --budget_usd x | --batch_size 0 | --device cuda:1
        --baseline nowhere | --model_cost_config gone.yaml | --model openai | --engine rey | --engine ray,worker=2
        --engine ray,gpus=many | --engine ray
    """),
    "--num_fewshot 5",
)
BACKENDS = {
    "openai": (
        *listed("""
            modl=m | model=1e5 | model=m,timeout=soon | model=m,timeout=0 | model=m,base_url=localhost:80
            model=m,base_url=ftp://x | model=m,base_url=http://u:p@x/v1
            model=m,base_url=http://x/v1/chat/completions | model=m,base_url=http://x:y | model=m,api_key_file=gone
            model=m,endpoint=chatt | model=m,outputs=text+imag | model=m,inputs=txt | model=m,max_connections=0
        """),
        f"model=m,api_key={KEY}",
    ),
    "hf": (
        *listed("""
            pretrained=./gone | pretrained=tiny,dtype=floot | pretrained=tiny,device=cudda
            pretrained=tiny,chat_template=gone.jinja | pretrained=rows,revision=x | pretrained=me/absent
            pretrained=tiny,batch_size=4 | pretrained=tiny,data_parallel_size=0
        """),
        "",
    ),
    "diffusers": listed(
        "pretrained=rows | pretrained=tiny,num_inference_steps=0 | pretrained=tiny,width=big"
    ),
    "replay": listed("""
        path=nowhere | path=rows | path=rows,format=mmmg,generation=4 | path=rows,generations=4
        path=rows,format=mmmg,generations=many | path=rows,format=mmmg,generations=0
    """),
}
OVERALL = "match}, {metric: wer}, {metric: overall, of: [wer]}"
ABSENT = TASK.replace("task: t", "task: u").replace("rows", "./gone")
FIRST = {"rate_500": 1.0}
CHOICES = {
    "t.yaml": TASK.replace("exact_match", "choice"),
    "rows/test.jsonl": "".join(
        f'{{"input": "question {i}", "options": ["fir", "oak"], "answer": "B"}}\n'
        for i in range(3)
    ),
}
NUMBERS = """numbers:
  - {number: some, of: [exact_match, judge_yes_no], missing: skip}
  - {number: both, of: [exact_match, judge_yes_no]}
"""
CASES = {
    "--version": Case("--version"),
    "no words": Case(""),
    "an unknown verb": Case("validat"),
    "a stray word": Case("run stray"),
    "a flag of another verb": Case("report runs --judge empty"),
    "a folder that is not there": Case("--tasks ./gone --model empty"),
    "a folder as configuration": Case("--config rows"),
    "a model in place of a backend": Case("--tasks t --model org/model"),
    **{verb: Case(f"{verb} x") for verb in sorted(REFUSED_VERBS)},
    "a run": Case(RUN),
    "the same command again": Case(RUN, before=(RUN,)),
    "another limit": Case(
        f"{RUN} --limit 1 --log_samples", before=(f"{RUN} --limit 2",)
    ),
    "a dry run": Case(f"{OPENAI} --dry_run --budget_calls 5", server={}),
    "--batch_size of a backend without batches": Case(
        f"{RUN} --batch_size 4 --predict_only"
    ),
    "a run with every number": Case(f"{RUN} --table full"),
    "a number of numbers without its judge": Case(
        f"{RUN} --table full",
        {
            **TINY,
            "t.yaml": f"{TASK.replace('}]', '}, {metric: judge_yes_no}]')}{NUMBERS}",
        },
    ),
    "numbers that make no sense": Case(RUN, {**TINY, "t.yaml": TASK + NUMBERS}),
    "a run without a table": Case(f"{RUN} --table none"),
    "a quiet run": Case(f"{RUN} --limit 1 --verbosity ERROR"),
    "tasks that may ask the same": Case(
        f"{RUN} --tasks t.yaml,u.yaml --predict_only",
        {**TINY, "u.yaml": TASK.replace("task: t", "task: u")},
    ),
    "--write_out": Case(f"{RUN} --write_out --predict_only"),
    "--show_config": Case(f"{RUN} --limit 0.5 --show_config"),
    "--tasks list_groups": Case("--tasks list_groups --include_path ."),
    "no tasks": Case("--limit 2"),
    "no model": Case("--tasks t.yaml"),
    **{flags: Case(f"{RUN} {flags}") for flags in FLAGS},
    **{
        f"--model {model} --model_args {args}": Case(
            f'{RUN} --model {model} --model_args "{args}"'
        )
        for model, several in BACKENDS.items()
        for args in several
    },
    "another model in the same folder": Case(
        f"{RUN} --model empty --model_tag reference", before=(RUN,)
    ),
    "a file in the place of the folder": Case(RUN, {**TINY, "runs": "mine"}),
    "a configuration that is absent": Case("-C none.yaml"),
    "an unknown key of a configuration": Case(
        "-C run.yaml", {"run.yaml": "tasks: a\nlimt: 5\n"}
    ),
    "a key of a configuration twice": Case(
        "-C run.yaml", {"run.yaml": "max-connections: 1\nmax_connections: 2\n"}
    ),
    "a configuration that names another": Case(
        "-C run.yaml", {"run.yaml": "config: x.yaml\n"}
    ),
    "a value of a configuration": Case("-C run.yaml", {"run.yaml": "offset: x\n"}),
    "a value in the environment": Case(RUN, env={"MMEVAL_OFFSET": "y"}),
    "a variable without effect": Case(
        f"{RUN} --predict_only", env={"MMEVAL_LIMITS": "5"}
    ),
    "a level in the environment": Case(RUN, env={"MMEVAL_LOG_LEVEL": "loud"}),
    "answers that name no option": Case(
        f"{OPENAI} --table short", CHOICES, server={"reply": "I cannot tell."}
    ),
    "answers that name no option, in every number": Case(
        f"{OPENAI} --table full", CHOICES, server={"reply": "I cannot tell."}
    ),
    "answers that are empty beside reasoning": Case(
        OPENAI, server={"reply": "<think>It may be an oak.</think>"}
    ),
    "a key that is refused": Case(OPENAI, server={"expire_after": 1}),
    "an unknown price": Case(f"{OPENAI} --budget_usd 1", server={}),
    "a budget that is spent": Case(
        f"{OPENAI} --max_connections 1 --budget_calls 2 --model_cost_config "
        "prices.yaml",
        PRICES,
        server={},
    ),
    "every trial failed": Case(f"{OPENAI} --retry_on_error 0", server={**FIRST}),
    "one trial failed": Case(
        f"{OPENAI} --retry_on_error 0", server={"poison": 'question 1"'}
    ),
    "one sample cannot be asked": Case(
        RUN,
        {
            **TINY,
            "rows/test.jsonl": f'{DATA}{{"input": "<<image1>>", "media": {{"image1": '
            f'"gone.png"}}}}\n',
        },
    ),
    "no sample can be asked": Case(
        RUN,
        {
            **TINY,
            "rows/test.jsonl": '{"input": "<<image1>>", "media": {"image1": '
            '"gone.png"}}\n',
        },
    ),
    "a row that is no JSON": Case(
        f"{OPENAI} --max_connections 1",
        {**TINY, "rows/test.jsonl": f"{DATA}{{\n"},
        server={},
    ),
    "an id twice": Case(
        RUN, {**TINY, "rows/test.jsonl": f'{DATA}{{"id": "0", "input": "q"}}\n'}
    ),
    "an empty data set": Case(RUN, {**TINY, "rows/test.jsonl": ""}),
    "fewer rows than expected": Case(
        RUN, {**TINY, "t.yaml": f"{TASK}expected: {{rows: 20}}\n"}
    ),
    "a model that gives no sound": Case(
        OPENAI,
        {**TINY, "t.yaml": f"{TASK}output_modalities: [text, audio]\n"},
        server={},
    ),
    "a model that gives a part": Case(
        OPENAI,
        {
            **TINY,
            "t.yaml": f"{TASK}output_modalities: [text, audio]\npartial_output: true\n",
        },
        server={},
    ),
    "a metric without its judge": Case(RUN, JUDGED),
    "a metric without its judge, --strict": Case(f"{RUN} --strict", JUDGED),
    "a judge whose replies do not fit": Case(
        f"{RUN} --judge openai,model=j --judge_base_url URL", JUDGED, server={}
    ),
    "a judged metric beside another": Case(
        f"{RUN} --judge openai,model=j --judge_base_url URL",
        {**TINY, "t.yaml": TASK.replace("match}", "match}, {metric: judge_grade}")},
        server={"reply": '{{"grade": 4}}'},
    ),
    "a judge whose key is refused": Case(
        f"{RUN} --judge openai,model=j,max_connections=1 --judge_base_url URL",
        JUDGED,
        server={"expire_after": 1},
    ),
    "a prompt that no metric has": Case(
        f"{RUN} --judge empty --judge_prompts mine",
        {**JUDGED, "mine/judge_grad.md": "{{ form }}"},
    ),
    "a prompt that reads what is not there": Case(
        f"{RUN} --judge empty --judge_prompts mine",
        {**JUDGED, "mine/judge_grade.md": "{{ answr }}"},
    ),
    "a prompt without the form": Case(
        f"{RUN} --judge empty --judge_prompts mine",
        {**JUDGED, "mine/judge_grade.md": "{{ answer }}"},
    ),
    "prices that are no prices": Case(
        f"{RUN} --model_cost_config p.yaml",
        {**TINY, "p.yaml": "models:\n  m: {input: 1, output: 2, as_of: yesterday}\n"},
    ),
    "data of the hub": Case(
        RUN, {"t.yaml": TASK.replace("rows", "org/name"), "bundled/test.jsonl": DATA}
    ),
    "data that are named wrongly": Case(RUN, {"t.yaml": TASK.replace("rows", "dat")}),
    "a score of a skipped piece": Case(
        f"{RUN} --skip_metric wer",
        {**TINY, "t.yaml": TASK.replace("match}", OVERALL)},
    ),
    "a pipeline as a chat model": Case(
        f"{RUN} --model hf --model_args pretrained=pipe",
        {**TINY, "pipe/model_index.json": "{}"},
    ),
    "a pipeline of another purpose": Case(
        f"{RUN} --model diffusers --model_args pretrained=pipe",
        {**TINY, "pipe/model_index.json": '{"_class_name": "FluxFillPipeline"}'},
    ),
    "a model as other harnesses name it": Case(f"{RUN} --model hf-auto"),
    "MMMG without its data": Case(
        "run --tasks mmmg_audio_text_order --model empty --output_path runs"
    ),
    "MMMG with an empty folder": Case(
        "run --tasks mmmg_audio_text_order --model empty --data_dir rows"
    ),
    "a misspelt role": Case(f"{RUN} --role jugde=empty", JUDGED),
    "a group of which a part is not here": Case(
        f"{RUN} --tasks g.yaml",
        {
            **TINY,
            "u.yaml": ABSENT,
            "g.yaml": "group: g\ntask: [t, u]\nmetadata: {version: 1}\n",
        },
    ),
    "fifty failures in a row": Case(
        f"{OPENAI} --max_connections 1 --retry_on_error 0",
        {
            **TINY,
            "rows/test.jsonl": "".join(
                f'{{"input": "q{i}", "reference": "r"}}\n' for i in range(60)
            ),
        },
        server=FIRST,
    ),
    "samples without a reference": Case(
        RUN, {**TINY, "rows/test.jsonl": '{"input": "q"}\n'}
    ),
    "a label of the slices that is missing": Case(
        RUN, {**TINY, "t.yaml": f"{TASK}breakdown: [level]\n"}
    ),
    "a baseline of another version": Case(
        f"{RUN} --run_id b --baseline runs/reference/default",
        before=(RUN,),
        meanwhile=lambda folder: (folder / "t.yaml").write_text(
            TASK.replace("version: 1", "version: 2")
        ),
    ),
    "a replay that lacks an answer": Case(
        f"{RUN} --model replay --model_args path=runs/reference/default,name=again",
        before=(f"{RUN} --limit 2",),
    ),
}


ERRORS = {
    "an unexpected error": ZeroDivisionError("oops"),
    "a full disk": OSError(errno.ENOSPC, "No space", "/runs"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_run_ends(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    def dispatch(argv: object) -> int:
        raise ERRORS[name]

    def broken(_folder: Path) -> None:
        monkeypatch.setattr(verbs, "dispatch", dispatch)

    assert shown(Case(RUN, meanwhile=broken), tmp_path) == snapshot


@pytest.mark.parametrize("name", CASES)
def test_run(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot
