import base64
import os
import pathlib
import tempfile

HOME = pathlib.Path(tempfile.mkdtemp())
os.environ["LLM_USER_PATH"] = str(HOME)

import llm  # noqa: E402

from cells import cell, run  # noqa: E402
from common import IMAGE, KEY, QUESTION, SEEN, URL, Person, get_weather, joined, raises, tool_said  # noqa: E402

MODEL = """
- model_id: {0}
  model_name: {0}
  api_base: {1}/v1
  api_key_name: offpeak
  vision: true
  supports_tools: true
  supports_schema: true
"""
models = "".join(MODEL.format(name, URL) for name in ("tiny", "weather", "nobody"))
(HOME / "extra-openai-models.yaml").write_text(models)


def ask(model, *of, key=KEY, **more):
    return llm.get_model(model).prompt(*of, key=key, **more)


@cell("chat: answer")
def _():
    answer = ask("tiny", "good night", stream=False)
    assert answer.text() == "Echo: good night"
    assert answer.usage().output > 0


@cell("chat: stream")
def _():
    assert joined(ask("tiny", "one two three four")) == "Echo: one two three four"


@cell("chat: tools")
def _():
    for stream in (False, True):
        answer = llm.get_model("weather").chain(QUESTION, tools=[get_weather], key=KEY, stream=stream)
        assert tool_said(answer.text())


@cell("chat: schema")
def _():
    Person.model_validate_json(ask("tiny", "Ada, 36", schema=Person, stream=False).text())


@cell("chat: image")
def _():
    image = llm.Attachment(type="image/png", content=base64.b64decode(IMAGE))
    assert SEEN in ask("weather", "What is this?", attachments=[image]).text()


@cell("chat: errors")
def _():
    raises(401, lambda: ask("tiny", "x", key="wrong").text())
    raises(404, lambda: ask("nobody", "x").text())


@cell("chat: retries")
def _():
    assert ask("tiny", "[[fail 429 1]] llm").text() == "Echo: llm"


run()
