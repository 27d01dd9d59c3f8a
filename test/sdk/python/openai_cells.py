"""All cells for the official openai client for Python."""

import json
import time
from typing import Optional

import openai
from pydantic import BaseModel

from cells import KEY, URL, cell, raised, run

client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)

MODEL = "default"
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
CHAT_TOOL = {
    "type": "function",
    "function": {"name": "get_weather", "description": "The weather now.", "parameters": PARAMETERS, "strict": True},
}
RESPONSES_TOOL = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather now.",
    "parameters": PARAMETERS,
    "strict": True,
}
QUESTION = "How is the weather in Rome?"


class Person(BaseModel):
    name: str
    age: int
    nick: Optional[str]


def say(content):
    return [{"role": "user", "content": content}]


# Chat completions


@cell("chat: plain")
def _():
    answer = client.chat.completions.create(model=MODEL, messages=say("good night"))
    assert answer.object == "chat.completion" and answer.model == "tiny"
    assert answer.choices[0].message.content == "Echo: good night"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer._request_id.startswith("req_")


@cell("chat: stream")
def _():
    stream = client.chat.completions.create(
        model=MODEL,
        messages=say("one two three four"),
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "Echo: one two three four"
    usages = [chunk.usage for chunk in chunks if chunk.usage]
    assert len(usages) == 1 and usages[0].total_tokens > 0


@cell("chat: stream helper")
def _():
    with client.chat.completions.stream(model=MODEL, messages=say("put together")) as stream:
        pieces = [event.delta for event in stream if event.type == "content.delta"]
        completion = stream.get_final_completion()
    assert len(pieces) > 1 and "".join(pieces) == "Echo: put together"
    assert completion.choices[0].message.content == "Echo: put together"


@cell("chat: tools")
def _():
    messages = say(QUESTION)
    first = client.chat.completions.create(model="weather", messages=messages, tools=[CHAT_TOOL]).choices[0]
    assert first.finish_reason == "tool_calls"
    [call] = first.message.tool_calls
    assert (call.id, call.function.name, call.function.arguments) == ("call_1", "get_weather", '{"city":"Rome"}')
    # Sends the answer back with every field that the client knows.
    result = {"role": "tool", "tool_call_id": call.id, "content": "12 degrees"}
    second = client.chat.completions.create(
        model="weather", messages=[*messages, first.message, result], tools=[CHAT_TOOL]
    ).choices[0]
    assert (second.message.content, second.finish_reason) == ("The tool said: 12 degrees", "stop")


@cell("chat: tools, streamed")
def _():
    with client.chat.completions.stream(model="weather", messages=say(QUESTION), tools=[CHAT_TOOL]) as stream:
        choice = stream.get_final_completion().choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls[0].function.arguments == '{"city":"Rome"}'


@cell("chat: forced tool")
def _():
    forced = {"type": "function", "function": {"name": "get_weather"}}
    asked = {"model": MODEL, "messages": say("Hello!"), "tools": [CHAT_TOOL], "tool_choice": forced}
    plain = client.chat.completions.create(**asked)
    with client.chat.completions.stream(**asked) as stream:
        streamed = stream.get_final_completion()
    for answer in (plain, streamed):
        assert answer.choices[0].finish_reason == "tool_calls"
        [call] = answer.choices[0].message.tool_calls
        assert call.function.name == "get_weather"
        assert set(json.loads(call.function.arguments)) == {"city"}


@cell("chat: structured output")
def _():
    completion = client.chat.completions.parse(model=MODEL, messages=say("Ada, 36"), response_format=Person)
    assert isinstance(completion.choices[0].message.parsed, Person)


@cell("chat: structured output, streamed")
def _():
    with client.chat.completions.stream(model=MODEL, messages=say("Ada, 36"), response_format=Person) as stream:
        completion = stream.get_final_completion()
    assert isinstance(completion.choices[0].message.parsed, Person)


@cell("chat: broken stream")
def _():
    asked = {"model": MODEL, "messages": say("[[cut 2]] broken off")}
    error = raised(openai.APIError, lambda: list(client.chat.completions.create(**asked, stream=True)))
    assert "ended too early" in error.message
    assert (error.code, error.type) == ("invalid_upstream_response", "server_error")

    def helped():
        with client.chat.completions.stream(**asked) as stream:
            stream.get_final_completion()

    assert "ended too early" in raised(openai.APIError, helped).message


@cell("chat: abort")
def _():
    stream = client.chat.completions.create(model="weather", messages=say("for ever"), stream=True)
    for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    stream.close()


@cell("chat: flex")
def _():
    asked = {"model": MODEL, "messages": say("at batch price"), "service_tier": "flex"}
    with client.chat.completions.stream(**asked) as stream:
        streamed = stream.get_final_completion()
    for answer in [client.chat.completions.create(**asked), streamed]:
        assert answer.service_tier == "flex"
        assert answer.choices[0].message.content == "Echo: at batch price"


# Responses


@cell("responses: plain")
def _():
    response = client.responses.create(model=MODEL, input="good night")
    assert (response.object, response.status, response.model) == ("response", "completed", "tiny")
    assert response.output_text == "Echo: good night"
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens
    assert response._request_id.startswith("req_")


@cell("responses: stream")
def _():
    events = list(client.responses.create(model=MODEL, input="one two three", stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert (events[0].type, events[-1].type) == ("response.created", "response.completed")
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == "Echo: one two three"


@cell("responses: stream helper")
def _():
    with client.responses.stream(model=MODEL, input="put together") as stream:
        pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
        response = stream.get_final_response()
    assert "".join(pieces) == "Echo: put together"
    assert (response.status, response.output_text) == ("completed", "Echo: put together")


@cell("responses: tools")
def _():
    question = {"role": "user", "content": QUESTION}
    asked = {"model": "weather", "tools": [RESPONSES_TOOL]}
    plain = client.responses.create(**asked, input=[question])
    with client.responses.stream(**asked, input=[question]) as stream:
        streamed = stream.get_final_response()
    for first in (plain, streamed):
        [call] = first.output
        assert (call.type, call.call_id, call.arguments) == ("function_call", "call_1", '{"city":"Rome"}')
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "12 degrees"}
        second = client.responses.create(**asked, input=[question, call, result])
        assert second.output_text == "The tool said: 12 degrees"


@cell("responses: forced tool")
def _():
    forced = {"type": "function", "name": "get_weather"}
    asked = {"model": MODEL, "input": "Hello!", "tools": [RESPONSES_TOOL], "tool_choice": forced}
    plain = client.responses.create(**asked)
    with client.responses.stream(**asked) as stream:
        streamed = stream.get_final_response()
    for response in (plain, streamed):
        [call] = response.output
        assert (call.type, call.name) == ("function_call", "get_weather")
        assert set(json.loads(call.arguments)) == {"city"}


@cell("responses: structured output")
def _():
    response = client.responses.parse(model=MODEL, input="Ada, 36", text_format=Person)
    assert isinstance(response.output_parsed, Person)


@cell("responses: structured output, streamed")
def _():
    with client.responses.stream(model=MODEL, input="Ada, 36", text_format=Person) as stream:
        response = stream.get_final_response()
    assert isinstance(response.output_parsed, Person)


@cell("responses: stored")
def _():
    made = client.responses.create(model=MODEL, input="keep me", metadata={"a": "b"})
    read = client.responses.retrieve(made.id)
    assert (read.output_text, read.metadata) == ("Echo: keep me", {"a": "b"})
    [item] = client.responses.input_items.list(made.id)
    assert (item.role, item.content[0].text) == ("user", "keep me")
    client.responses.delete(made.id)
    raised(openai.NotFoundError, lambda: client.responses.retrieve(made.id))


@cell("responses: continued")
def _():
    first = client.responses.create(model=MODEL, input="My name is Ada.")
    second = client.responses.create(model="weather", input="What was said?", previous_response_id=first.id)
    assert second.output_text == "My name is Ada. | Echo: My name is Ada. | What was said?"


@cell("responses: background")
def _():
    begun = client.responses.create(model=MODEL, input="later", background=True)
    assert begun.status == "queued"
    response = wait_for(lambda: client.responses.retrieve(begun.id), lambda now: now.status)
    assert (response.status, response.output_text) == ("completed", "Echo: later")
    hanging = client.responses.create(model=MODEL, input="[[hang]]", background=True)
    assert client.responses.cancel(hanging.id).status == "cancelled"


@cell("responses: flex")
def _():
    asked = {"model": MODEL, "input": "at batch price", "service_tier": "flex"}
    with client.responses.stream(**asked) as stream:
        streamed = stream.get_final_response()
    for answer in [client.responses.create(**asked), streamed, client.responses.retrieve(streamed.id)]:
        assert (answer.service_tier, answer.output_text) == ("flex", "Echo: at batch price")


@cell("responses: replay")
def _():
    events = list(client.responses.create(model=MODEL, input="a b c d", stream=True))
    id = events[0].response.id
    rest = list(client.responses.retrieve(id, stream=True, starting_after=4))
    assert rest == events[5:]
    with client.responses.stream(response_id=id) as stream:
        assert stream.get_final_response().output_text == "Echo: a b c d"


@cell("responses: broken stream")
def _():
    asked = {"model": MODEL, "input": "[[cut 3]] broken off"}
    error = raised(openai.APIError, lambda: list(client.responses.create(**asked, stream=True)))
    assert "ended too early" in error.message and error.code == "invalid_upstream_response"


@cell("responses: count tokens")
def _():
    counted = client.responses.input_tokens.count(model=MODEL, input="how many?")
    response = client.responses.create(model=MODEL, input="how many?")
    assert counted.input_tokens == response.usage.input_tokens


# Everything else


@cell("embeddings")
def _():
    texts = ["night", "day"]
    packed = client.embeddings.create(model=MODEL, input=texts)  # asks for base64 by itself
    plain = client.embeddings.create(model=MODEL, input=texts, encoding_format="float")
    for a, b in zip(packed.data, plain.data, strict=True):
        assert len(a.embedding) == 64
        assert all(abs(x - y) < 1e-6 for x, y in zip(a.embedding, b.embedding, strict=True))
    assert plain.data[0].embedding != plain.data[1].embedding


@cell("files")
def _():
    content = lines(5)
    made = []
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        expiry = {"anchor": "created_at", "seconds": 86_400}
        file = client.files.create(file=(name, content), purpose="batch", expires_after=expiry)
        assert (file.filename, file.bytes, file.status) == (name, len(content), "processed")
        assert file.expires_at == file.created_at + 86_400
        made.append(file.id)
    listed = [file.id for file in client.files.list(purpose="batch", limit=2) if file.id in made]
    assert listed == made[::-1]
    assert client.files.wait_for_processing(made[0]).id == made[0]
    assert client.files.content(made[0]).content == content
    assert client.files.delete(made[0]).deleted is True
    raised(openai.NotFoundError, lambda: client.files.retrieve(made[0]))


@cell("batches")
def _():
    refused = {"custom_id": "refused", "method": "POST", "url": "/v1/chat/completions"}
    refused["body"] = {"model": MODEL, "messages": say("[[fail 400]]")}
    content = lines(5) + json.dumps(refused).encode()
    file = client.files.create(file=("in.jsonl", content), purpose="batch")
    made = client.batches.create(
        input_file_id=file.id,
        endpoint="/v1/chat/completions",
        completion_window="24h",
        metadata={"team": "night"},
    )
    batch = wait_for(lambda: client.batches.retrieve(made.id), lambda now: now.status)
    assert (batch.status, batch.metadata) == ("completed", {"team": "night"})
    counts = batch.request_counts
    assert (counts.total, counts.completed, counts.failed) == (6, 5, 1)
    output = [json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines()]
    said = {line["custom_id"]: line["response"]["body"]["choices"][0]["message"]["content"] for line in output}
    assert said == {f"row-{n}": f"Echo: row-{n}" for n in range(5)}
    errors = client.files.content(batch.error_file_id).text.splitlines()
    assert [json.loads(line)["custom_id"] for line in errors] == ["refused"]
    assert made.id in [each.id for each in client.batches.list(limit=1)]
    finished = raised(openai.ConflictError, lambda: client.batches.cancel(made.id))
    assert finished.code == "batch_not_cancellable"


@cell("models")
def _():
    assert [model.id for model in client.models.list()] == ["tiny", "weather"]
    assert client.models.retrieve("default").id == "tiny"


def lines(count):
    requests = (
        {
            "custom_id": f"row-{n}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": MODEL, "messages": say(f"row-{n}")},
        }
        for n in range(count)
    )
    return b"".join(json.dumps(request).encode() + b"\n" for request in requests)


def wait_for(look, status_of):
    """Polls for up to half a minute until it is finished."""
    deadline = time.monotonic() + 30
    while True:
        now = look()
        if status_of(now) in ("completed", "failed", "cancelled", "expired", "incomplete"):
            return now
        assert time.monotonic() < deadline, f"still {status_of(now)}"
        time.sleep(0.01)


run()
