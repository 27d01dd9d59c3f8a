"""Cells of a client of the openai package, for all programs that such a client talks to."""

from cells import cell
from batch_common import FAILING, is_echo, line, lines_of, until


def define(surface, client, endpoint="/v1/chat/completions", headers=None, has_pages=True):
    """`headers` go with each upload and each list; without `has_pages`, only the first page of a list is read."""
    made = {}
    how = {"extra_headers": headers}

    def create(*prompts):
        text = "\n".join(line(f"r{n}", prompt, endpoint) for n, prompt in enumerate(prompts))
        file = client.files.create(file=("in.jsonl", text.encode()), purpose="batch", **how)
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
        page = client.batches.list(limit=1, **how)
        ids = [batch.id for batch in (page if has_pages else page.data)]
        assert ids[0] == made["batch"].id, ids

    @cell(f"{surface}: cancel")
    def _():
        batch = create("[[hang]]")
        client.batches.cancel(batch.id)
        assert ended(batch).status == "cancelled"
