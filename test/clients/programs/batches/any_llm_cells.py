import os
import sys
import tempfile

sys.path.append(os.path.dirname(os.path.dirname(__file__)))

from any_llm import api  # noqa: E402

from cells import cell, run  # noqa: E402
from common import KEY, URL  # noqa: E402
from batch_common import FAILING, is_echo, line, until  # noqa: E402


def define(provider, api_base, tells_failures=False):
    at = {"provider": provider, "api_key": KEY, "api_base": api_base}
    made = {}

    def create(*prompts):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write("\n".join(line(f"r{n}", prompt) for n, prompt in enumerate(prompts)))
            file.flush()
            return api.create_batch(input_file_path=file.name, endpoint="/v1/chat/completions", **at)

    def ended(batch):
        def check():
            found = api.retrieve_batch(batch_id=batch.id, **at)
            return found if found.status not in ("validating", "in_progress", "cancelling") else None

        return until(check)

    @cell(f"{provider}: create")
    def _():
        made["batch"] = batch = ended(create("one", FAILING, "two", FAILING))
        assert (batch.request_counts.completed, batch.request_counts.failed) == (2, 2)

    @cell(f"{provider}: results")
    def _():
        made["results"] = found = api.retrieve_batch_results(batch_id=made["batch"].id, **at).results
        is_echo([each.result.choices[0].message.content for each in found if each.result])

    if tells_failures:

        @cell(f"{provider}: failed requests")
        def _():
            failed = [each for each in made["results"] if each.error]
            assert sorted(each.custom_id for each in failed) == ["r1", "r3"]
            assert all("status 400" in each.error.message for each in failed)

    @cell(f"{provider}: list")
    def _():
        assert api.list_batches(limit=1, **at)[0].id == made["batch"].id

    @cell(f"{provider}: cancel")
    def _():
        batch = create("[[hang]]")
        api.cancel_batch(batch_id=batch.id, **at)
        # Anthropic's batches have no status of their own for this.
        assert ended(batch).status in ("cancelled", "completed")


define("openai", f"{URL}/openai/v1")
define("anthropic", f"{URL}/anthropic", tells_failures=True)

run()
