"""Raises every error with the official openai client for Python. The rows come from standard input."""

import json
import sys

import openai

from cells import KEY, URL, cell, raised, run

client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=1)


def check(row):
    # The fallback class, which is the base class in the JavaScript client.
    kind = getattr(openai, row["openai"].replace("APIError", "APIStatusError"))
    chat = {"role": "user", "content": f"{row['n']} python chat"}
    calls = (
        lambda: client.chat.completions.create(model="tiny", messages=[chat]),
        lambda: client.responses.create(model="tiny", input=f"{row['n']} python responses"),
    )
    for call in calls:
        error = raised(kind, call)
        assert str(error) == f"Error code: {row['status']} - {row['sentence']}", str(error)
        assert error.request_id.startswith("req_")
        assert (error.status_code, error.code, error.type) == (row["status"], row["code"], row["type"])


for row in json.load(sys.stdin):
    cell(row["title"])(lambda row=row: check(row))

run(at_once=8)
