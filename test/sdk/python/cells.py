"""Runs the cells of a script and prints one line of JSON for each, for the test that started it."""

import json
import os
import traceback
from concurrent.futures import ThreadPoolExecutor

URL = os.environ["OFFPEAK_URL"]
KEY = os.environ["OFFPEAK_API_KEY"]

_cells = {}


def cell(name):
    """Makes a function the cell `name` of the matrix in docs/clients.md."""

    def register(function):
        _cells[name] = function
        return function

    return register


def run(at_once=1):
    """Runs all cells, `limit` at the same time."""
    with ThreadPoolExecutor(at_once) as threads:
        for result in threads.map(_outcome, _cells.items()):
            print(json.dumps(result), flush=True)


def _outcome(item):
    name, function = item
    try:
        function()
    except Exception:
        return {"name": name, "error": traceback.format_exc()}
    return {"name": name, "error": None}


def raised(kind, call):
    """Returns the exception that `call` must raise, of exactly this class."""
    try:
        call()
    except Exception as error:
        assert type(error) is kind, f"expected {kind.__name__}, got {type(error).__name__}: {error}"
        return error
    raise AssertionError(f"expected {kind.__name__}, but nothing was raised")
