"""Imports curator without its downloads."""

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

from bespokelabs import curator  # noqa: E402, F401
