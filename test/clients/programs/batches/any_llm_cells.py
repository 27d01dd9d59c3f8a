import os
import sys
import tempfile

sys.path.append(os.path.dirname(os.path.dirname(__file__)))

from any_llm import api  # noqa: E402

from cells import cell, run  # noqa: E402
from common import KEY, URL  # noqa: E402
from batch_common import FAILING, is_echo, line, until  # noqa: E402

AT = {"provider": "openai", "api_key": KEY, "api_base": f"{URL}/openai/v1"}
made = {}


def create(*prompts):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("\n".join(line(f"r{n}", prompt) for n, prompt in enumerate(prompts)))
        file.flush()
        return api.create_batch(input_file_path=file.name, endpoint="/v1/chat/completions", **AT)


def ended(batch):
    def check():
        found = api.retrieve_batch(batch_id=batch.id, **AT)
        return found if found.status not in ("validating", "in_progress", "cancelling") else None

    return until(check)


@cell("openai: create")
def _():
    made["batch"] = batch = ended(create("one", FAILING, "two", FAILING))
    assert (batch.request_counts.completed, batch.request_counts.failed) == (2, 2)


@cell("openai: results")
def _():
    found = api.retrieve_batch_results(batch_id=made["batch"].id, **AT).results
    is_echo([each.result.choices[0].message.content for each in found if each.result])


@cell("openai: list")
def _():
    assert api.list_batches(limit=1, **AT)[0].id == made["batch"].id


@cell("openai: cancel")
def _():
    batch = create("[[hang]]")
    api.cancel_batch(batch_id=batch.id, **AT)
    assert ended(batch).status == "cancelled"


run()
