import asyncio
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(__file__)))

from batchwork import BatchRequest, Batchwork  # noqa: E402

from cells import cell, run  # noqa: E402
from common import KEY, URL  # noqa: E402
from batch_common import FAILING, is_echo  # noqa: E402


def define(surface, base_url):
    made = {}

    def work(then, *prompts):
        """Result of `then` for a job of these prompts that has ended."""

        async def go():
            async with Batchwork(credentials={surface: {"api_key": KEY, "base_url": base_url}}) as client:
                requests = [
                    BatchRequest(custom_id=f"r{n}", prompt=prompt, max_output_tokens=100)
                    for n, prompt in enumerate(prompts)
                ]
                return await then(await client.batch(model=f"{surface}/tiny", requests=requests))

        return asyncio.run(go())

    async def collect(job):
        made["last"] = await job.wait(poll_interval=0.2, timeout=60)
        return await job.collect()

    async def cancel(job):
        await job.cancel()
        return await collect(job)

    @cell(f"{surface}: create")
    def _():
        made["results"] = work(collect, "one", FAILING, "two", FAILING)
        counts = made["last"].request_counts
        assert (counts.total, counts.completed, counts.failed) == (4, 2, 2)

    @cell(f"{surface}: results")
    def _():
        is_echo([result.text for result in made["results"] if result.status == "succeeded"])

    @cell(f"{surface}: failed requests")
    def _():
        failed = [result for result in made["results"] if result.status == "errored"]
        assert sorted(result.custom_id for result in failed) == ["r1", "r3"]
        assert all(result.error.message for result in failed)

    @cell(f"{surface}: cancel")
    def _():
        [result] = work(cancel, "[[hang]]")
        # Anthropic's batches have no status of their own for this.
        assert made["last"].status == "cancelled" or result.status == "canceled"


define("openai", f"{URL}/openai/v1")
define("azure", f"{URL}/openai/v1")
define("anthropic", f"{URL}/anthropic")

run()
