from curator_setup import curator

from cells import cell, run
from common import KEY, URL, Person


def model(**more):
    params = {"base_url": f"{URL}/v1", "api_key": KEY, **more.pop("params", {})}
    return curator.LLM(model_name="tiny", backend="openai", backend_params=params, **more)


def texts(result):
    return sorted(row["response"] for row in result.dataset)


@cell("chat: answer")
def _():
    assert texts(model()(["one", "two"])) == ["Echo: one", "Echo: two"]


@cell("chat: schema")
def _():
    [row] = model(response_format=Person)(["Ada, 36"]).dataset
    assert isinstance(row["age"], int)


@cell("chat: retries")
def _():
    assert texts(model()(["[[fail 429 1]] curator"])) == ["Echo: curator"]


@cell("chat: batch")
def _():
    made = model(batch=True, params={"batch_check_interval": 1, "batch_size": 2})
    assert texts(made(["three", "four", "five"])) == ["Echo: five", "Echo: four", "Echo: three"]


run()
