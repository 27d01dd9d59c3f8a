import io
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(__file__)))
# Prevents a download of model prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402

from cells import cell, run  # noqa: E402
from common import KEY, URL  # noqa: E402
from batch_common import FAILING, is_echo, line, lines_of, until  # noqa: E402

litellm.telemetry = False


def define(surface, endpoint, **at):
    made = {}

    def create(*prompts):
        text = "\n".join(line(f"r{n}", prompt, endpoint) for n, prompt in enumerate(prompts))
        file = litellm.create_file(file=("in.jsonl", io.BytesIO(text.encode())), purpose="batch", **at)
        return litellm.create_batch(
            completion_window="24h", endpoint=endpoint, input_file_id=file.id, **at
        )

    def ended(batch):
        def check():
            found = litellm.retrieve_batch(batch_id=batch.id, **at)
            return found if found.status not in ("validating", "in_progress", "cancelling") else None

        return until(check)

    def lines(file_id):
        return lines_of(litellm.file_content(file_id=file_id, **at).content.decode())

    @cell(f"{surface}: create")
    def _():
        made["batch"] = batch = ended(create("one", FAILING, "two", FAILING))
        counts = batch.request_counts
        assert (counts.total, counts.completed, counts.failed) == (4, 2, 2)

    @cell(f"{surface}: results")
    def _():
        results = lines(made["batch"].output_file_id)
        is_echo([result["response"]["body"]["choices"][0]["message"]["content"] for result in results])

    @cell(f"{surface}: failed requests")
    def _():
        errors = lines(made["batch"].error_file_id)
        assert sorted(error["custom_id"] for error in errors) == ["r1", "r3"]
        assert all(error["error"]["message"] for error in errors)

    @cell(f"{surface}: list")
    def _():
        assert litellm.list_batches(limit=1, **at).data[0].id == made["batch"].id

    @cell(f"{surface}: cancel")
    def _():
        batch = create("[[hang]]")
        litellm.cancel_batch(batch_id=batch.id, **at)
        assert ended(batch).status == "cancelled"


OPENAI = {"custom_llm_provider": "openai", "api_base": f"{URL}/openai/v1", "api_key": KEY}
AZURE = {"custom_llm_provider": "azure", "api_base": URL, "api_key": KEY, "api_version": "2024-10-21"}

define("openai", "/v1/chat/completions", **OPENAI)
define("azure", "/chat/completions", **AZURE)

run()
