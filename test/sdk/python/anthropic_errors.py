"""Raises every error with the official anthropic client for Python. The rows come from standard input."""

import json
import sys

import anthropic

from cells import KEY, URL, cell, raised, run

client = anthropic.Anthropic(base_url=URL, auth_token=KEY, max_retries=1)


def check(row):
    # The fallback class is APIStatusError here, and APIError in the JavaScript client.
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
