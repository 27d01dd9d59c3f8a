"""Answers of the model of the documented batch.py, without a model."""

import time


class Model:
    def answer(self, bodies):
        time.sleep(0.01 * len(bodies))
        return [(200, response(body)) for body in bodies]


def response(body):
    text = body["messages"][-1]["content"]
    return {
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": f"echo {text}"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }
