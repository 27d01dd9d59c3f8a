import instructor
from anthropic import Anthropic
from instructor import Mode
from openai import OpenAI

from cells import cell, run
from common import KEY, URL, Person, raises


def openai(mode, key=KEY, retries=0):
    return instructor.from_openai(OpenAI(base_url=f"{URL}/v1", api_key=key, max_retries=retries), mode=mode)


def anthropic(mode, key=KEY, retries=0):
    return instructor.from_anthropic(Anthropic(base_url=URL, auth_token=key, max_retries=retries), mode=mode)


FORMATS = {
    "chat": (openai, Mode.TOOLS, Mode.JSON_SCHEMA),
    "responses": (openai, Mode.RESPONSES_TOOLS, None),
    "messages": (anthropic, Mode.ANTHROPIC_TOOLS, None),
}


def define(name, client, tools, schema):
    def asked(text="Ada, 36", model="tiny"):
        more = {"max_tokens": 1000} if name == "messages" else {}
        return {"model": model, "messages": [{"role": "user", "content": text}], "max_retries": 1, **more}

    @cell(f"{name}: forced tool")
    def _():
        assert isinstance(client(tools).create(response_model=Person, **asked()), Person)

    if schema:

        @cell(f"{name}: schema")
        def _():
            assert isinstance(client(schema).create(response_model=Person, **asked()), Person)

    @cell(f"{name}: stream")
    def _():
        parts = list(client(tools).create_partial(response_model=Person, **asked()))
        assert isinstance(parts[-1].age, int)

    @cell(f"{name}: errors")
    def _():
        raises(401, lambda: client(tools, key="wrong").create(response_model=Person, **asked()))
        raises(404, lambda: client(tools).create(response_model=Person, **asked(model="nobody")))

    @cell(f"{name}: retries")
    def _():
        text = f"[[fail 429 2]] instructor {name}"
        raises(503, lambda: client(tools).create(response_model=Person, **asked(text)))
        assert isinstance(client(tools, retries=2).create(response_model=Person, **asked(text)), Person)


for format_name, parts in FORMATS.items():
    define(format_name, *parts)
run()
