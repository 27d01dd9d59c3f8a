"""Every error as the official anthropic client for Python raises it. The rows come on the standard input."""

import json
import sys

import anthropic

from cells import KEY, URL, cell, raised, run

client = anthropic.Anthropic(base_url=URL, auth_token=KEY, max_retries=1)


def check(row):
    # What has no class of its own is this one's APIStatusError, the JavaScript client's APIError.
    kind = getattr(anthropic, row["anthropic"].replace("APIError", "APIStatusError"))
    asked = {"role": "user", "content": f"{row['n']} python messages"}
    error = raised(kind, lambda: client.messages.create(model="tiny", max_tokens=5, messages=[asked]))
    assert error.api_message == row["sentence"]
    assert error.request_id.startswith("req_")
    type = row.get("messagesType", row["type"])
    assert (error.status_code, error.error_code, error.type) == (row["status"], row["code"], type)


for row in json.load(sys.stdin):
    cell(row["title"])(lambda row=row: check(row))

run(at_once=8)
