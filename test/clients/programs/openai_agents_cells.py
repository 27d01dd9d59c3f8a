import asyncio

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from cells import cell, run
from common import IMAGE_URL, KEY, QUESTION, SEEN, URL, Person, get_weather, joined, raises, tool_said

set_tracing_disabled(True)
TOOLS = [function_tool(get_weather)]
FORMATS = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}


def define(name, kind):
    def agent(model, key=KEY, retries=0, **more):
        client = AsyncOpenAI(base_url=f"{URL}/v1", api_key=key, max_retries=retries)
        return Agent(name="a", instructions="Be kind.", model=kind(model=model, openai_client=client), **more)

    def ask(*of, asked, **more):
        return asyncio.run(Runner.run(agent(*of, **more), asked))

    def stream(model, asked, **more):
        async def read():
            running = Runner.run_streamed(agent(model, **more), asked)
            events = [event async for event in running.stream_events() if event.type == "raw_response_event"]
            return [event.data.delta for event in events if event.data.type == "response.output_text.delta"]

        return joined(asyncio.run(read()))

    @cell(f"{name}: answer")
    def _():
        result = ask("tiny", asked="good night")
        assert result.final_output == "Echo: good night"
        assert result.context_wrapper.usage.output_tokens > 0

    @cell(f"{name}: stream")
    def _():
        assert stream("tiny", "one two three four") == "Echo: one two three four"

    @cell(f"{name}: tools")
    def _():
        first = ask("weather", asked=QUESTION, tools=TOOLS)
        assert tool_said(first.final_output)
        history = [*first.to_input_list(), {"role": "user", "content": "thanks"}]
        assert ask("weather", asked=history).final_output.endswith("thanks")
        assert tool_said(stream("weather", QUESTION, tools=TOOLS))

    @cell(f"{name}: forced tool")
    def _():
        for choice in ("required", "get_weather"):
            settings = ModelSettings(tool_choice=choice)
            more = {"tools": TOOLS, "model_settings": settings, "tool_use_behavior": "stop_on_first_tool"}
            assert ask("tiny", asked="Hello!", **more).final_output == "12 degrees"

    @cell(f"{name}: schema")
    def _():
        assert isinstance(ask("tiny", asked="Ada, 36", output_type=Person).final_output, Person)

    @cell(f"{name}: image")
    def _():
        content = [
            {"type": "input_text", "text": "What is this?"},
            {"type": "input_image", "image_url": IMAGE_URL, "detail": "auto"},
        ]
        assert SEEN in ask("weather", asked=[{"role": "user", "content": content}]).final_output

    @cell(f"{name}: errors")
    def _():
        raises(401, lambda: ask("tiny", asked="x", key="wrong"))
        raises(404, lambda: ask("nobody", asked="x"))

    @cell(f"{name}: retries")
    def _():
        prompt = f"[[fail 429 2]] agents py {name}"
        raises(503, lambda: ask("tiny", asked=prompt))
        assert ask("tiny", asked=prompt, retries=2).final_output == f"Echo: agents py {name}"


for each in FORMATS.items():
    define(*each)
run()
