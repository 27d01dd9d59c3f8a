import os
import sys
from threading import Thread

sys.path.append(os.path.dirname(os.path.dirname(__file__)))

from curator_setup import curator  # noqa: E402
from openai import OpenAI  # noqa: E402

from cells import cell, run  # noqa: E402
from common import KEY, URL  # noqa: E402
from batch_common import FAILING, is_echo, until  # noqa: E402

AT = {"base_url": f"{URL}/openai/v1", "api_key": KEY}
made = {}


def model(**more):
    params = {**AT, "batch_check_interval": 1, "batch_size": 4, "require_all_responses": False, "max_retries": 1}
    return curator.LLM(model_name="tiny", backend="openai", batch=True, backend_params=params, **more)


def ask(prompts, **how):
    return model()(prompts, **how)


@cell("openai: create")
def _():
    made["result"] = ask(["one", FAILING, "two", FAILING])


@cell("openai: results")
def _():
    is_echo([row["response"] for row in made["result"].dataset])


@cell("openai: cancel")
def _():
    prompts = ["[[hang]]"]
    Thread(target=lambda: ask(prompts), daemon=True).start()
    batches = OpenAI(**AT).batches
    running = until(lambda: [each.id for each in batches.list(limit=1) if each.status == "in_progress"])

    def is_cancelled():
        # It cancels the batches that its own file has, which has this one a little later.
        ask(prompts, batch_cancel=True, batch_cancel_auto_confirm=True)
        return batches.retrieve(running[0]).status == "cancelled"

    until(is_cancelled)


run()
os._exit(0)
