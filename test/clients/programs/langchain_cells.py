from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

from cells import cell, run
from common import IMAGE_URL, KEY, QUESTION, SEEN, URL, Person, get_weather, joined, raises, tool_said


def openai(model, key=KEY, retries=0, **more):
    return ChatOpenAI(model=model, api_key=key, base_url=f"{URL}/v1", max_retries=retries, **more)


def anthropic(model, key=KEY, retries=0):
    # A key is required here; the one in the header is used.
    headers = {"Authorization": f"Bearer {key}"}
    return ChatAnthropic(model=model, base_url=URL, api_key="none", default_headers=headers, max_retries=retries)


FORMATS = {
    "chat": openai,
    "responses": lambda *a, **k: openai(*a, use_responses_api=True, **k),
    "messages": anthropic,
}


def define(name, model):
    @cell(f"{name}: answer")
    def _():
        answer = model("tiny").invoke("good night")
        assert answer.text == "Echo: good night"
        assert answer.usage_metadata["input_tokens"] > 0 and answer.usage_metadata["output_tokens"] > 0

    @cell(f"{name}: stream")
    def _():
        chunks = list(model("tiny").stream("one two three four"))
        assert joined(chunk.text for chunk in chunks) == "Echo: one two three four"

    @cell(f"{name}: tools")
    def _():
        agent = create_agent(model("weather"), [get_weather])
        asked = {"messages": [("user", QUESTION)]}
        assert tool_said(agent.invoke(asked)["messages"][-1].text)
        parts = [chunk for chunk, _ in agent.stream(asked, stream_mode="messages")]
        assert tool_said(joined(part.text for part in parts if part.type == "AIMessageChunk"))

    @cell(f"{name}: forced tool")
    def _():
        for choice in ("any", "get_weather"):
            [call] = model("tiny").bind_tools([get_weather], tool_choice=choice).invoke("Hello!").tool_calls
            assert call["name"] == "get_weather" and isinstance(call["args"]["city"], str)

    @cell(f"{name}: schema")
    def _():
        for method in ("json_schema", "function_calling"):
            asked = model("tiny").with_structured_output(Person, method=method)
            assert isinstance(asked.invoke("Ada, 36"), Person)

    @cell(f"{name}: image")
    def _():
        content = [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": IMAGE_URL}},
        ]
        assert SEEN in model("weather").invoke([HumanMessage(content=content)]).text

    @cell(f"{name}: errors")
    def _():
        raises(401, lambda: model("tiny", key="wrong").invoke("x"))
        raises(404, lambda: model("nobody").invoke("x"))

    @cell(f"{name}: retries")
    def _():
        prompt = f"[[fail 429 2]] langchain py {name}"
        raises(503, lambda: model("tiny").invoke(prompt))
        assert model("tiny", retries=2).invoke(prompt).text == f"Echo: langchain py {name}"


for each in FORMATS.items():
    define(*each)


@cell("chat: embeddings")
def _():
    # Without the second setting, it downloads a tokenizer and sends token ids.
    made = OpenAIEmbeddings(model="tiny", api_key=KEY, base_url=f"{URL}/v1", check_embedding_ctx_length=False)
    assert [len(vector) > 8 for vector in made.embed_documents(["a", "b"])] == [True, True]


run()
