import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(__file__)))

from openai import AzureOpenAI, OpenAI  # noqa: E402

from cells import run  # noqa: E402
from common import KEY, URL  # noqa: E402
from openai_batches import define  # noqa: E402

define("openai", OpenAI(base_url=f"{URL}/openai/v1", api_key=KEY))
define("azure", AzureOpenAI(azure_endpoint=URL, api_key=KEY, api_version="2024-10-21"), "/chat/completions")

run()
