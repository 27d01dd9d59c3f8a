import asyncio
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(__file__)))

from autobatcher import BatchOpenAI  # noqa: E402
from loguru import logger  # noqa: E402

from cells import cell, run  # noqa: E402
from common import KEY, URL  # noqa: E402
from batch_common import FAILING, is_echo  # noqa: E402

logger.remove()


def define(way, tells_failures=False, **how):
    made = {}

    async def answers(*prompts):
        client = BatchOpenAI(
            api_key=KEY,
            base_url=f"{URL}/openai/v1",
            batch_size=len(prompts),
            batch_window_seconds=0.5,
            poll_interval_seconds=0.2,
            **how,
        )

        def ask(prompt):
            messages = [{"role": "user", "content": prompt}]
            return client.chat.completions.create(model="tiny", messages=messages)

        return await asyncio.gather(*(ask(prompt) for prompt in prompts), return_exceptions=True)

    @cell(f"{way}: create")
    def _():
        made["answers"] = asyncio.run(answers("one", FAILING, "two", FAILING))

    @cell(f"{way}: results")
    def _():
        is_echo(
            [each.choices[0].message.content for each in made["answers"] if not isinstance(each, Exception)]
        )
        assert sum(isinstance(each, Exception) for each in made["answers"]) == 2

    if tells_failures:

        @cell(f"{way}: failed requests")
        def _():
            failed = [each for each in made["answers"] if isinstance(each, Exception)]
            assert all("status 400" in str(each) for each in failed), failed


define("openai", completion_window="24h")
define("openai, service_tier flex", tells_failures=True)

run()
