"""Shared code of the Python programs."""

import os

from pydantic import BaseModel

URL = os.environ["OFFPEAK_URL"]
KEY = os.environ["OFFPEAK_API_KEY"]
IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE_URL = f"data:image/png;base64,{IMAGE}"
SEEN = "What is this? data:image/png"
QUESTION = "How is the weather in Rome?"


class Person(BaseModel):
    name: str
    age: int
    nick: str | None


def get_weather(city: str) -> str:
    """The weather now.

    Args:
        city: Where.
    """
    return "12 degrees"


def tool_said(text):
    """Returns True for the final answer of the model with tools."""
    return text.startswith("The tool said: ") and "12 degrees" in text


def joined(pieces):
    """Returns the parts of a stream; requires several."""
    pieces = [piece for piece in pieces if piece]
    assert len(pieces) > 1, pieces
    return "".join(pieces)


def raises(status, call):
    """Expects `call` to raise an error with this status, in any field that clients use."""
    try:
        call()
    except Exception as error:
        causes, at = [], error
        while at is not None and len(causes) < 9:
            causes.append(at)
            at = at.__cause__ or at.__context__
        told = [getattr(one, "status_code", None) for one in causes]
        assert status in told, f"no {status} in {told}: {error!r}"
        return
    raise AssertionError("nothing was raised")
