import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(__file__)))

from inspect_ai import Task, eval  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import BatchConfig, GenerateConfig, get_model  # noqa: E402

from cells import cell, run  # noqa: E402
from common import KEY, URL  # noqa: E402
from batch_common import FAILING, is_echo  # noqa: E402

BATCH = BatchConfig(size=4, send_delay=1, tick=0.2)


def define(surface, name, base_url, tells_failures=False):
    made = {}
    prompts = ["one", FAILING, "two", FAILING] if tells_failures else ["one", "two"]

    @cell(f"{surface}: create")
    def _():
        model = get_model(name, base_url=base_url, api_key=KEY, config=GenerateConfig(batch=BATCH))
        task = Task(dataset=[Sample(input=prompt) for prompt in prompts])
        how = {"display": "none", "log_dir": os.environ["HOME"], "fail_on_error": False}
        [made["log"]] = eval(task, model=model, **how)
        assert made["log"].status == "success", made["log"].error

    @cell(f"{surface}: results")
    def _():
        is_echo([sample.output.completion for sample in made["log"].samples if not sample.error])

    if tells_failures:

        @cell(f"{surface}: failed requests")
        def _():
            failed = [sample for sample in made["log"].samples if sample.error]
            assert len(failed) == 2 and all("status 400" in sample.error.message for sample in failed), failed


# One failed request fails the whole batch: it expects an HTTP status in `error.code`.
define("openai", "openai/tiny", f"{URL}/openai/v1")
define("anthropic", "anthropic/tiny", f"{URL}/anthropic", tells_failures=True)

run()
