import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(__file__)))

from inspect_ai import Task, eval  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import BatchConfig, GenerateConfig, get_model  # noqa: E402

from cells import cell, run  # noqa: E402
from common import KEY, URL  # noqa: E402
from batch_common import is_echo  # noqa: E402

BATCH = BatchConfig(size=2, send_delay=1, tick=0.2)


def define(surface, name, base_url):
    made = {}

    @cell(f"{surface}: create")
    def _():
        model = get_model(name, base_url=base_url, api_key=KEY, config=GenerateConfig(batch=BATCH))
        task = Task(dataset=[Sample(input=text) for text in ("one", "two")])
        [made["log"]] = eval(task, model=model, display="none", log_dir=os.environ["HOME"])
        assert made["log"].status == "success", made["log"].error

    @cell(f"{surface}: results")
    def _():
        is_echo([sample.output.completion for sample in made["log"].samples])


define("openai", "openai/tiny", f"{URL}/openai/v1")

run()
