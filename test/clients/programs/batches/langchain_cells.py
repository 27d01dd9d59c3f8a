import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(__file__)))

from langchain_anthropic import ChatAnthropic  # noqa: E402
from langchain_openai import AzureChatOpenAI, ChatOpenAI  # noqa: E402

from cells import cell, run  # noqa: E402
from common import KEY, URL  # noqa: E402
from batch_common import FAILING, is_echo  # noqa: E402


def define(surface, model, tier="flex"):
    made = {}

    @cell(f"{surface}: create")
    def _():
        made["answers"] = model.batch(["one", FAILING, "two", FAILING], return_exceptions=True)

    @cell(f"{surface}: results")
    def _():
        answers = [each for each in made["answers"] if not isinstance(each, Exception)]
        is_echo([answer.text for answer in answers])
        for answer in answers:
            told = answer.response_metadata
            assert (told.get("service_tier") or told["usage"]["service_tier"]) == tier, told

    @cell(f"{surface}: failed requests")
    def _():
        failed = [each for each in made["answers"] if isinstance(each, Exception)]
        assert len(failed) == 2 and all("status 400" in str(each) for each in failed), failed


OPENAI = {"base_url": f"{URL}/openai/v1", "api_key": KEY, "model": "tiny", "service_tier": "flex"}
AZURE = {"azure_endpoint": URL, "api_key": KEY, "api_version": "2024-10-21", "azure_deployment": "tiny"}
ANTHROPIC = {"base_url": f"{URL}/anthropic", "api_key": KEY, "model": "tiny"}

define("openai, service_tier flex", ChatOpenAI(**OPENAI))
define("openai, service_tier flex, responses", ChatOpenAI(**OPENAI, use_responses_api=True))
define("azure, service_tier flex", AzureChatOpenAI(**AZURE, service_tier="flex"))
# It has no setting for this tier, which is called "batch" in its answers.
flex = {"extra_body": {"service_tier": "flex"}}
define("anthropic, service_tier flex", ChatAnthropic(**ANTHROPIC, model_kwargs=flex), "batch")

run()
