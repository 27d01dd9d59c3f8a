import importlib.util
import os
import tempfile

os.environ["TELEMETRY_ENABLED"] = "0"
os.environ["CURATOR_CACHE_DIR"] = tempfile.mkdtemp()
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["OPENAI_API_KEY"] = os.environ["OFFPEAK_API_KEY"]

# Curator would download a tokenizer to count tokens; its dependency LiteLLM contains a copy.
litellm = importlib.util.find_spec("litellm").submodule_search_locations[0]
os.environ["TIKTOKEN_CACHE_DIR"] = os.path.join(litellm, "litellm_core_utils", "tokenizers")

from bespokelabs import curator  # noqa: E402

from cells import cell, run  # noqa: E402
from common import KEY, URL, Person  # noqa: E402


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
