import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(__file__)))

from openai import AzureOpenAI, OpenAI  # noqa: E402

from cells import cell, run  # noqa: E402
from common import KEY, URL  # noqa: E402
from batch_common import FAILING, is_echo, line, lines_of, until  # noqa: E402


def define(surface, client, endpoint):
    made = {}

    def create(*prompts):
        text = "\n".join(line(f"r{n}", prompt, endpoint) for n, prompt in enumerate(prompts))
        file = client.files.create(file=("in.jsonl", text.encode()), purpose="batch")
        return client.batches.create(input_file_id=file.id, endpoint=endpoint, completion_window="24h")

    def ended(batch):
        def check():
            found = client.batches.retrieve(batch.id)
            return found if found.status not in ("validating", "in_progress", "cancelling") else None

        return until(check)

    @cell(f"{surface}: create")
    def _():
        made["batch"] = batch = ended(create("one", FAILING, "two", FAILING))
        assert batch.expires_at - batch.created_at == 86_400
        counts = batch.request_counts
        assert (counts.total, counts.completed, counts.failed) == (4, 2, 2)

    @cell(f"{surface}: results")
    def _():
        results = lines_of(client.files.content(made["batch"].output_file_id).text)
        is_echo([result["response"]["body"]["choices"][0]["message"]["content"] for result in results])

    @cell(f"{surface}: failed requests")
    def _():
        errors = lines_of(client.files.content(made["batch"].error_file_id).text)
        assert sorted(error["custom_id"] for error in errors) == ["r1", "r3"]
        assert all(error["error"]["message"] for error in errors)

    @cell(f"{surface}: list")
    def _():
        ids = [batch.id for batch in client.batches.list(limit=1)]
        assert ids[0] == made["batch"].id, ids

    @cell(f"{surface}: cancel")
    def _():
        batch = create("[[hang]]")
        client.batches.cancel(batch.id)
        assert ended(batch).status == "cancelled"


define("openai", OpenAI(base_url=f"{URL}/openai/v1", api_key=KEY), "/v1/chat/completions")
define("azure", AzureOpenAI(azure_endpoint=URL, api_key=KEY, api_version="2024-10-21"), "/chat/completions")

run()
