"""Shared code of the Python clients of batches."""

import json
import time

# Prompt that the model rejects.
FAILING = "[[fail 400]]"


def line(custom_id, content, endpoint="/v1/chat/completions"):
    body = {"model": "tiny", "messages": [{"role": "user", "content": content}]}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": endpoint, "body": body})


def lines_of(text):
    return [json.loads(each) for each in text.splitlines() if each]


def is_echo(texts):
    """Expects the answers of the prompts "one" and "two", in any order."""
    assert sorted(texts) == ["Echo: one", "Echo: two"], texts


def until(check):
    """Calls `check` until its result is truthy."""
    for _ in range(600):
        found = check()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("nothing came within a minute")
