"""All cells for the official anthropic client for Python."""

import time
from typing import Optional

import anthropic
from anthropic import beta_tool
from pydantic import BaseModel

from cells import KEY, URL, cell, raised, run

client = anthropic.Anthropic(base_url=URL, auth_token=KEY, max_retries=0)

BASE = {"model": "default", "max_tokens": 200}
TOOL = {
    "name": "get_weather",
    "description": "The weather now.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}


class Person(BaseModel):
    name: str
    age: int
    nick: Optional[str]


def say(content):
    return [{"role": "user", "content": content}]


QUESTION = say("How is the weather in Rome?")


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


@cell("messages: plain")
def _():
    message = client.messages.create(**BASE, messages=say("good night"))
    assert (message.type, message.role, message.model) == ("message", "assistant", "tiny")
    assert (text_of(message), message.stop_reason) == ("Echo: good night", "end_turn")
    assert message.usage.output_tokens > 0
    assert message._request_id.startswith("req_")


@cell("messages: stream")
def _():
    events = list(client.messages.create(**BASE, messages=say("one two three"), stream=True))
    assert (events[0].type, events[-1].type) == ("message_start", "message_stop")
    text = "".join(event.delta.text for event in events if event.type == "content_block_delta")
    assert text == "Echo: one two three"


@cell("messages: stream helper")
def _():
    with client.messages.stream(**BASE, messages=say("put together")) as stream:
        pieces = list(stream.text_stream)
        message = stream.get_final_message()
    assert len(pieces) > 1 and "".join(pieces) == "Echo: put together"
    assert (text_of(message), message.stop_reason) == ("Echo: put together", "end_turn")


@cell("messages: tools")
def _():
    asked = {**BASE, "model": "weather", "tools": [TOOL]}
    first = client.messages.create(**asked, messages=QUESTION)
    assert first.stop_reason == "tool_use"
    [use] = first.content
    assert (use.id, use.name, use.input) == ("call_1", "get_weather", {"city": "Rome"})
    result = {"type": "tool_result", "tool_use_id": use.id, "content": "12 degrees"}
    messages = [*QUESTION, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    second = client.messages.create(**asked, messages=messages)
    assert (text_of(second), second.stop_reason) == ("The tool said: 12 degrees", "end_turn")


@cell("messages: tools, streamed")
def _():
    with client.messages.stream(**{**BASE, "model": "weather"}, tools=[TOOL], messages=QUESTION) as stream:
        pieces = [event.partial_json for event in stream if event.type == "input_json"]
        message = stream.get_final_message()
    assert "".join(pieces) == '{"city":"Rome"}'
    assert (message.stop_reason, message.content[0].input) == ("tool_use", {"city": "Rome"})


@cell("messages: tool runner")
def _():
    asked = []

    @beta_tool
    def get_weather(city: str) -> str:
        """The weather now.

        Args:
            city: where
        """
        asked.append(city)
        return "12 degrees"

    runner = client.beta.messages.tool_runner(
        **{**BASE, "model": "weather"}, tools=[get_weather], messages=QUESTION
    )
    assert text_of(runner.until_done()) == "The tool said: 12 degrees"
    assert asked == ["Rome"]


@cell("messages: forced tool")
def _():
    for choice in ({"type": "tool", "name": "get_weather"}, {"type": "any"}):
        asked = {**BASE, "messages": say("Hello!"), "tools": [TOOL], "tool_choice": choice}
        plain = client.messages.create(**asked)
        with client.messages.stream(**asked) as stream:
            streamed = stream.get_final_message()
        for message in (plain, streamed):
            [use] = message.content
            assert (message.stop_reason, use.type, use.name) == ("tool_use", "tool_use", "get_weather")
            assert set(use.input) == {"city"}


@cell("messages: structured output")
def _():
    message = client.messages.parse(**BASE, messages=say("Ada, 36"), output_format=Person)
    assert isinstance(message.parsed_output, Person)


@cell("messages: structured output, streamed")
def _():
    with client.messages.stream(**BASE, messages=say("Ada, 36"), output_format=Person) as stream:
        message = stream.get_final_message()
    assert isinstance(message.parsed_output, Person)


@cell("messages: broken stream")
def _():
    asked = {**BASE, "messages": say("[[cut 2]] broken off")}
    error = caught(lambda: list(client.messages.create(**asked, stream=True)))
    assert isinstance(error, anthropic.APIError), repr(error)
    assert "ended too early" in str(error)

    def helped():
        with client.messages.stream(**asked) as stream:
            stream.get_final_message()

    assert "ended too early" in str(caught(helped))


@cell("messages: abort")
def _():
    stream = client.messages.create(**{**BASE, "model": "weather"}, messages=say("for ever"), stream=True)
    for event in stream:
        if event.type == "content_block_delta":
            break
    stream.close()


@cell("messages: flex")
def _():
    asked = {**BASE, "messages": say("at batch price"), "extra_body": {"service_tier": "flex"}}
    with client.messages.stream(**asked) as stream:
        streamed = stream.get_final_message()
    for message in [client.messages.create(**asked), streamed]:
        assert (text_of(message), message.usage.service_tier) == ("Echo: at batch price", "batch")


@cell("messages: count tokens")
def _():
    asked = {"model": "default", "system": "be kind", "messages": say("how many?"), "tools": [TOOL]}
    counted = client.messages.count_tokens(**asked).input_tokens
    usage = client.messages.create(**asked, max_tokens=5).usage
    assert counted == usage.input_tokens + (usage.cache_read_input_tokens or 0)


@cell("models")
def _():
    assert [model.id for model in client.models.list()] == ["tiny", "weather"]
    assert client.models.retrieve("default").id == "tiny"


@cell("files are refused")
def _():
    error = raised(
        anthropic.UnprocessableEntityError,
        lambda: client.beta.files.upload(file=("in.jsonl", b"{}")),
    )
    assert error.api_message.startswith("purpose: "), error.api_message


@cell("batches")
def _():
    batches = client.messages.batches
    requests = [{"custom_id": name, "params": {**BASE, "messages": say(name)}} for name in ("one", "two")]
    batch = batches.create(requests=requests)
    while batch.processing_status != "ended":
        time.sleep(0.1)
        batch = batches.retrieve(batch.id)
    assert batch.ended_at > batch.created_at or batch.ended_at == batch.created_at
    results = list(batches.results(batch.id))
    assert sorted(each.custom_id for each in results) == ["one", "two"]
    assert all(each.result.type == "succeeded" and text_of(each.result.message) for each in results)
    assert batch.id in [each.id for each in batches.list(limit=1)]
    assert batches.delete(batch.id).type == "message_batch_deleted"


def caught(call):
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


run()
