import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(__file__)))

from anthropic import Anthropic  # noqa: E402

from cells import cell, run  # noqa: E402
from common import KEY, URL  # noqa: E402
from batch_common import FAILING, is_echo, until  # noqa: E402

batches = Anthropic(base_url=f"{URL}/anthropic", api_key=KEY).messages.batches
made = {}


def create(*prompts):
    def request(n, content):
        params = {"model": "tiny", "max_tokens": 50, "messages": [{"role": "user", "content": content}]}
        return {"custom_id": f"r{n}", "params": params}

    return batches.create(requests=[request(n, prompt) for n, prompt in enumerate(prompts)])


def ended(batch):
    def check():
        found = batches.retrieve(batch.id)
        return found if found.processing_status == "ended" else None

    return until(check)


@cell("anthropic: create")
def _():
    made["batch"] = batch = ended(create("one", FAILING, "two", FAILING))
    assert (batch.request_counts.succeeded, batch.request_counts.errored) == (2, 2)


@cell("anthropic: results")
def _():
    results = list(batches.results(made["batch"].id))
    is_echo([each.result.message.content[0].text for each in results if each.result.type == "succeeded"])


@cell("anthropic: failed requests")
def _():
    results = batches.results(made["batch"].id)
    failed = [each for each in results if each.result.type == "errored"]
    assert sorted(each.custom_id for each in failed) == ["r1", "r3"]
    assert all(each.result.error.error.message for each in failed)


@cell("anthropic: list")
def _():
    ids = [batch.id for batch in batches.list(limit=1)]
    assert ids[0] == made["batch"].id, ids


@cell("anthropic: cancel")
def _():
    batch = create("[[hang]]")
    batches.cancel(batch.id)
    assert ended(batch).request_counts.canceled == 1


run()
