"""Make the fixtures of these tests with the programs that write such files; each needs an environment of its own.

python -m venv .venv-writers && .venv-writers/bin/pip install openai inspect-ai
python -m venv .venv-harness && .venv-harness/bin/pip install torch==2.13.0 lm_eval
.venv-writers/bin/python tests/llm/make_fixtures.py openai inspect
.venv-harness/bin/python tests/llm/make_fixtures.py harness
"""

import json
import math
import os
import random
import sys
import tempfile
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"
LETTERS = "ABCD"


def questions(n, options=4):
    """Return questions with their true letters and what a model that is right more often than not says of them."""
    rng = random.Random(0)
    for number in range(n):
        truth = rng.randrange(options)
        scores = [rng.gauss(3.0 * (letter == truth), 1.5) for letter in range(options)]
        total = math.log(sum(map(math.exp, scores))) + 0.01  # 1 % is for other tokens
        yield f"question-{number}", LETTERS[truth], [score - total for score in scores]


# OpenAI's own types -------------------------------------------------------------------------------------------------


def token(text, logprob, top=()):
    found = {"token": text, "logprob": logprob, "bytes": list(text.encode())}
    return {**found, "top_logprobs": [token_alone(*each) for each in top]}


def token_alone(text, logprob):
    return {"token": text, "logprob": logprob, "bytes": list(text.encode())}


def letter_token(logprobs, returned=20, temperature_choice=None):
    """Return the token of a letter with its alternatives, in two spellings, the likeliest first."""
    split = [(LETTERS[place], logprob + math.log(0.9)) for place, logprob in enumerate(logprobs)]
    split += [(f" {LETTERS[place]}", logprob + math.log(0.1)) for place, logprob in enumerate(logprobs)]
    split += [("The", math.log(0.006)), ("I", math.log(0.004))]
    top = sorted(split, key=lambda each: -each[1])[:returned]
    chosen = top[0] if temperature_choice is None else split[temperature_choice]
    return token(*chosen, top)


def completion(number, choices, model="gpt-4o-mini-2024-07-18"):
    from openai.types.chat import ChatCompletion

    found = ChatCompletion.model_validate(
        {
            "id": f"chatcmpl-{number:04}",
            "object": "chat.completion",
            "created": 1760000000 + number,
            "model": model,
            "choices": choices,
            "usage": {"prompt_tokens": 90, "completion_tokens": 1, "total_tokens": 91},
        },
        strict=True,
    )
    return json.loads(found.model_dump_json())


def choice(text, content, index=0, finish="stop", refusal=None):
    message = {"role": "assistant", "content": None if refusal else text, "refusal": refusal}
    logprobs = None if content is None else {"content": None if refusal else content, "refusal": None}
    if refusal:
        logprobs = {"content": None, "refusal": [token(refusal, -0.2)]}
    return {"index": index, "finish_reason": finish, "message": message, "logprobs": logprobs}


def direct(logprobs, **options):
    content = [letter_token(logprobs, **options)]
    return content[0]["token"], content


def write_lines(name, records):
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    (FIXTURES / name).write_text("\n".join(lines) + "\n")


def openai():
    rows = list(questions(40))
    write_lines("chat.jsonl", [completion(n, [choice(*direct(lp))]) for n, (_, _, lp) in enumerate(rows)])
    write_lines("batch.jsonl", [batch_line(n, *row) for n, row in enumerate(rows)])
    write_lines("server.jsonl", [server_line(n, *row) for n, row in enumerate(rows)])
    write_lines("thinking.jsonl", [thinking_line(n, *row) for n, row in enumerate(rows)])
    write_lines("samples-of-five.jsonl", [five_line(n, *row) for n, row in enumerate(rows[:10])])
    write_lines("judge.jsonl", [judge_line(n, lp) for n, (_, _, lp) in enumerate(rows)])
    write_lines("no-logprobs.jsonl", [plain_line(n, *row) for n, row in enumerate(rows)])
    write_lines("responses.jsonl", [response_line(n, *row) for n, row in enumerate(rows)])


def batch_line(number, name, truth, logprobs):
    """Return a line as the batch API writes it: one failed, one was refused, one was cut off."""
    line = {"id": f"batch_req_{number}", "custom_id": name, "response": None, "error": None}
    if number == 3:
        return {**line, "error": {"code": "batch_expired", "message": "This request could not be executed."}}
    if number == 5:
        body = completion(number, [choice("", None, refusal="I'm sorry, I can't help with that.")])
    elif number == 7:
        words = [token("Let", -0.1), token(" me", -0.2), token(" think", -0.1)]
        body = completion(number, [choice("Let me think", words, finish="length")])
    else:
        body = completion(number, [choice(*direct(logprobs, returned=5))])
    return {**line, "response": {"status_code": 200, "request_id": f"req-{number}", "body": body}}


def server_line(number, name, truth, logprobs):
    """Return a line of a user who keeps the response beside keys of their own."""
    body = completion(number, [choice(*direct(logprobs))], model="meta-llama/Llama-3.1-8B-Instruct")
    return {"id": name, "subject": f"subject-{number % 4}", "truth": truth, "response": body}


def thinking_line(number, name, truth, logprobs):
    words = [token(word, -0.05 * (1 + number % 5)) for word in ("Both", " A", " and", " B", " seem", " right", ".\n")]
    start = [token("Answer", -0.01), token(":", -0.01), token(" ", -0.02)]
    end = [token(".", -0.01), token(f" Confidence: {60 + number % 40}%", -0.5)]
    content = [*words, *start, letter_token(logprobs, returned=6), *end]
    text = "".join(each["token"] for each in content)
    return {"id": name, "truth": truth, "response": completion(number, [choice(text, content)])}


def five_line(number, name, truth, logprobs):
    """Return a line with five choices, drawn from the letters."""
    rng, weights = random.Random(number), [math.exp(each) for each in logprobs]
    drawn = rng.choices(range(4), weights, k=5)
    choices = [
        choice(LETTERS[letter], [letter_token(logprobs, temperature_choice=letter)], index)
        for index, letter in enumerate(drawn)
    ]
    return {"id": name, "truth": truth, "response": completion(number, choices)}


def judge_line(number, logprobs):
    """Return a judge's mark as a word of two tokens, with the human's."""
    total = math.log(math.exp(logprobs[0]) + math.exp(logprobs[1])) + 0.01
    first, second = ("acc", logprobs[0] - total), ("rej", logprobs[1] - total)
    top = sorted([first, second, ("The", -6.0)], key=lambda each: -each[1])
    chosen = top[0]
    content = [token(*chosen, top), token("ept" if chosen == first else "ect", -0.001)]
    human = "accept" if logprobs[0] + 0.5 * (number % 3 - 1) > logprobs[1] else "reject"
    text = "".join(each["token"] for each in content)
    return {"id": f"item-{number}", "human": human, "response": completion(number, [choice(text, content)])}


def plain_line(number, name, truth, logprobs):
    """Return a line of a model that gives no log-probabilities, and says how sure it is."""
    letter = LETTERS[max(range(4), key=lambda place: logprobs[place])]
    text = json.dumps({"answer": letter, "confidence": round(math.exp(max(logprobs)), 2)})
    return {"id": name, "truth": truth, "response": completion(number, [choice(text, None)], model="o-mini")}


def response_line(number, name, truth, logprobs):
    from openai.types.responses import Response

    content = [letter_token(logprobs)]
    part = {"type": "output_text", "text": content[0]["token"], "annotations": [], "logprobs": content}
    status, details = "completed", None
    if number == 2:
        part = {"type": "refusal", "refusal": "I can't help with that."}
    if number == 4:
        part = {"type": "output_text", "text": "Let me", "annotations": [], "logprobs": []}
        status, details = "incomplete", {"reason": "max_output_tokens"}
    found = Response.model_validate(
        {
            "id": f"resp_{number:04}",
            "object": "response",
            "created_at": 1760000000 + number,
            "model": "gpt-4o-mini-2024-07-18",
            "status": status,
            "incomplete_details": details,
            "output": [
                {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": status, "content": [part]}
            ],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "metadata": {"id": name, "truth": truth},
        }
    )
    return json.loads(found.model_dump_json())


# lm-evaluation-harness with its dummy model -------------------------------------------------------------------------

CHOICE_TASK = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
doc_to_choice: "{{{{options}}}}"
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]
"""

WRITE_TASK = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{target}}}}"
generation_kwargs: {{until: ["."]}}
filter_list:
  - name: strict-match
    filter: [{{function: regex, regex_pattern: "answer is ([A-D])"}}, {{function: take_first}}]
  - name: flexible-extract
    filter: [{{function: regex, regex_pattern: "([a-z])"}}, {{function: take_first}}]
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
"""


def harness():
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    run_harness("choices", CHOICE_TASK, [4] * 20)
    run_harness("uneven", CHOICE_TASK, [2, 3, 4, 5] * 5)
    run_harness("written", WRITE_TASK, [4] * 10)


def run_harness(name, task, options):
    import lm_eval
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.jsonl"
        docs = [
            {
                "question": f"Question {number}?",
                "options": [f"option {place}" for place in range(n)],
                "answer": number % n,
                "target": LETTERS[number % 4],
            }
            for number, n in enumerate(options)
        ]
        data.write_text("\n".join(map(json.dumps, docs)))
        (Path(folder) / f"{name}.yaml").write_text(task.format(name=name, data=data))
        tracker = EvaluationTracker(output_path=f"{folder}/out")
        random.seed(0)
        found = lm_eval.simple_evaluate(
            "dummy",
            tasks=[name],
            task_manager=TaskManager(include_path=folder, include_defaults=False),
            log_samples=True,
            bootstrap_iters=0,
            evaluation_tracker=tracker,
        )
        samples = found.pop("samples")
        tracker.save_results_aggregated(results=found, samples=samples)
        tracker.save_results_samples(task_name=name, samples=samples[name])
        (written,) = Path(folder).rglob(f"samples_{name}_*.jsonl")
        (FIXTURES / f"samples_{name}.jsonl").write_text(written.read_text().replace(str(folder), "."))


# Inspect with its mock model ----------------------------------------------------------------------------------------


def inspect():
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.log import read_eval_log, write_eval_log
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        Logprobs,
        ModelOutput,
        ModelUsage,
        get_model,
    )
    from inspect_ai.scorer import choice as choice_scorer
    from inspect_ai.solver import multiple_choice

    rows = list(questions(6))
    samples = [
        Sample(id=name, input="Which?", choices=["one", "two", "three", "four"], target=truth)
        for name, truth, _ in rows
    ]

    def output(number, logprobs):
        tokens = [token("ANSWER", -0.01), token(":", -0.01), letter_token(logprobs, returned=8)]
        tokens[-1]["token"] = " " + tokens[-1]["token"].strip()
        text = "".join(each["token"] for each in tokens)
        if number == 4:
            text, tokens = "I can't say.", [token("I", -0.1), token(" can't", -0.2), token(" say.", -0.1)]
        reply = ChatCompletionChoice(
            message=ChatMessageAssistant(content=text, source="generate"),
            stop_reason="stop",
            logprobs=Logprobs.model_validate({"content": tokens}),
        )
        usage = ModelUsage(input_tokens=40, output_tokens=len(tokens), total_tokens=40 + len(tokens))
        return ModelOutput(model="mockllm", choices=[reply], usage=usage)

    outputs = [output(number, lp) for _ in range(2) for number, (_, _, lp) in enumerate(rows)]
    task = Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice_scorer(), epochs=2)
    with tempfile.TemporaryDirectory() as folder:
        model = get_model("mockllm/model", custom_outputs=outputs)
        evaluate(task, model=model, log_dir=folder, log_format="json", max_samples=1, display="none")
        (written,) = Path(folder).glob("*.json")
        log = read_eval_log(str(written))
        for sample in log.samples:
            sample.events = []  # which say nothing of the answer, and are nine tenths of the log
        write_eval_log(log, str(FIXTURES / "inspect.json"), format="json")


if __name__ == "__main__":
    FIXTURES.mkdir(exist_ok=True)
    for name in sys.argv[1:]:
        {"openai": openai, "harness": harness, "inspect": inspect}[name]()
