import asyncio
import base64

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent, BinaryContent, NativeOutput, ToolOutput
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from cells import cell, run
from common import IMAGE, KEY, QUESTION, SEEN, URL, Person, get_weather, joined, raises, tool_said


def openai(kind):
    def model(name, key, retries):
        client = AsyncOpenAI(base_url=f"{URL}/v1", api_key=key, max_retries=retries)
        return kind(name, provider=OpenAIProvider(openai_client=client))

    return model


def anthropic(name, key, retries):
    client = AsyncAnthropic(base_url=URL, auth_token=key, max_retries=retries)
    # It recognizes by name which models support schemas.
    profile = {"supports_json_schema_output": True}
    return AnthropicModel(name, profile=profile, provider=AnthropicProvider(anthropic_client=client))


FORMATS = {
    "chat": openai(OpenAIChatModel),
    "responses": openai(OpenAIResponsesModel),
    "messages": anthropic,
}


def define(name, model):
    def agent(of, key=KEY, retries=0, **more):
        return Agent(model(of, key, retries), **more)

    def ask(*of, asked, **more):
        return asyncio.run(agent(*of, **more).run(asked))

    def stream(of, asked, **more):
        async def read():
            async with agent(of, **more).run_stream(asked) as result:
                return [piece async for piece in result.stream_text(delta=True, debounce_by=None)]

        return joined(asyncio.run(read()))

    @cell(f"{name}: answer")
    def _():
        result = ask("tiny", asked="good night")
        assert result.output == "Echo: good night"
        assert result.usage.output_tokens > 0

    @cell(f"{name}: stream")
    def _():
        assert stream("tiny", "one two three four") == "Echo: one two three four"

    @cell(f"{name}: tools")
    def _():
        first = ask("weather", asked=QUESTION, tools=[get_weather])
        assert tool_said(first.output)
        assert tool_said(stream("weather", QUESTION, tools=[get_weather]))

    @cell(f"{name}: forced tool")
    def _():
        assert isinstance(ask("tiny", asked="Ada, 36", output_type=ToolOutput(Person)).output, Person)

    @cell(f"{name}: schema")
    def _():
        assert isinstance(ask("tiny", asked="Ada, 36", output_type=NativeOutput(Person)).output, Person)

    @cell(f"{name}: image")
    def _():
        image = BinaryContent(data=base64.b64decode(IMAGE), media_type="image/png")
        assert SEEN in ask("weather", asked=["What is this?", image]).output

    @cell(f"{name}: errors")
    def _():
        raises(401, lambda: ask("tiny", asked="x", key="wrong"))
        raises(404, lambda: ask("nobody", asked="x"))

    @cell(f"{name}: retries")
    def _():
        prompt = f"[[fail 429 2]] pydantic {name}"
        raises(503, lambda: ask("tiny", asked=prompt))
        assert ask("tiny", asked=prompt, retries=2).output == f"Echo: pydantic {name}"


for each in FORMATS.items():
    define(*each)
run()
