import io
import json
import os
import time

# Prevents a download of model prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402

from cells import cell, run  # noqa: E402
from common import IMAGE_URL, KEY, QUESTION, SEEN, URL, Person, joined, raises, tool_said  # noqa: E402

litellm.telemetry = False
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def openai(model, key=KEY):
    return {"model": f"openai/{model}", "api_base": f"{URL}/v1", "api_key": key}


def anthropic(model, key=KEY):
    # By default it sends the key only as x-api-key.
    headers = {"Authorization": f"Bearer {key}"}
    return {"model": f"anthropic/{model}", "api_base": URL, "api_key": "none", "extra_headers": headers}


def say(content):
    return [{"role": "user", "content": content}]


def define(name, at):
    def ask(model, content, **more):
        return litellm.completion(**at(model), messages=say(content), **{"max_retries": 0, **more})

    def text_of(answer):
        return answer.choices[0].message.content

    @cell(f"{name}: answer")
    def _():
        answer = ask("tiny", "good night")
        assert text_of(answer) == "Echo: good night"
        assert answer.usage.prompt_tokens > 0 and answer.usage.completion_tokens > 0

    @cell(f"{name}: stream")
    def _():
        chunks = ask("tiny", "one two three four", stream=True)
        assert joined(chunk.choices[0].delta.content for chunk in chunks) == "Echo: one two three four"

    @cell(f"{name}: tools")
    def _():
        for stream in (False, True):
            first = ask("weather", QUESTION, tools=[TOOL], stream=stream)
            if stream:
                first = litellm.stream_chunk_builder(list(first))
            [call] = first.choices[0].message.tool_calls
            assert json.loads(call.function.arguments) == {"city": "Rome"}
            result = {"role": "tool", "tool_call_id": call.id, "content": "12 degrees"}
            messages = [*say(QUESTION), first.choices[0].message.model_dump(), result]
            assert tool_said(text_of(litellm.completion(**at("weather"), messages=messages, tools=[TOOL])))

    @cell(f"{name}: forced tool")
    def _():
        for choice in ("required", {"type": "function", "function": {"name": "get_weather"}}):
            [call] = ask("tiny", "Hello!", tools=[TOOL], tool_choice=choice).choices[0].message.tool_calls
            assert call.function.name == "get_weather"

    @cell(f"{name}: schema")
    def _():
        Person.model_validate_json(text_of(ask("tiny", "Ada, 36", response_format=Person)))

    @cell(f"{name}: image")
    def _():
        parts = [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": IMAGE_URL}},
        ]
        assert SEEN in text_of(ask("weather", parts))

    @cell(f"{name}: errors")
    def _():
        raises(401, lambda: litellm.completion(**at("tiny", "wrong"), messages=say("x")))
        raises(404, lambda: ask("nobody", "x"))

    @cell(f"{name}: retries")
    def _():
        prompt = f"[[fail 429 2]] litellm {name}"
        raises(503, lambda: ask("tiny", prompt))
        assert text_of(ask("tiny", prompt, num_retries=2)) == f"Echo: litellm {name}"


define("chat", openai)
define("messages", anthropic)


@cell("responses: answer")
def _():
    answer = litellm.responses(**openai("tiny"), input="good night")
    assert answer.output[-1].content[0].text == "Echo: good night"


@cell("responses: stream")
def _():
    events = litellm.responses(**openai("tiny"), input="one two three four", stream=True)
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert joined(deltas) == "Echo: one two three four"


@cell("chat: embeddings")
def _():
    data = litellm.embedding(**openai("tiny"), input=["a", "b"]).data
    assert len(data) == 2 and len(data[0]["embedding"]) > 8


@cell("chat: batch")
def _():
    where = {"custom_llm_provider": "openai", "api_base": f"{URL}/v1", "api_key": KEY}
    body = {"model": "tiny", "messages": say("by batch")}
    line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": body}
    lines = ("lines.jsonl", io.BytesIO(json.dumps(line).encode()))
    file = litellm.create_file(file=lines, purpose="batch", **where)
    batch = litellm.create_batch(
        completion_window="24h", endpoint="/v1/chat/completions", input_file_id=file.id, **where
    )
    while batch.status != "completed":
        assert batch.status in ("validating", "in_progress", "finalizing"), batch
        time.sleep(0.1)
        batch = litellm.retrieve_batch(batch_id=batch.id, **where)
    content = litellm.file_content(file_id=batch.output_file_id, **where).content
    [result] = [json.loads(line) for line in content.decode().splitlines()]
    assert result["response"]["body"]["choices"][0]["message"]["content"] == "Echo: by batch"


run()
