"""Runs the cells of a script one after the other and prints one line of JSON for each, for the test that started it."""

import json
import os
import traceback

URL = os.environ["OFFPEAK_URL"]
KEY = os.environ["OFFPEAK_API_KEY"]

_cells = {}


def cell(name):
    """Makes a function the cell `name` of the matrix in docs/clients.md."""

    def register(function):
        _cells[name] = function
        return function

    return register


def run():
    for name, function in _cells.items():
        try:
            function()
            error = None
        except Exception:
            error = traceback.format_exc()
        print(json.dumps({"name": name, "error": error}), flush=True)


def raised(kind, call):
    """The exception of exactly this class that `call` must raise."""
    try:
        call()
    except Exception as error:
        assert type(error) is kind, f"expected {kind.__name__}, got {type(error).__name__}: {error}"
        return error
    raise AssertionError(f"expected {kind.__name__}, but nothing was raised")
