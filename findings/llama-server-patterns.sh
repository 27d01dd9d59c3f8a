#!/bin/sh
# The llama.cpp server accepts a `pattern` with `\d` and does not enforce it: status 200, no warning, any string.
# It enforces the same pattern with `[0-9]`. Exits non-zero when that changes.
# Needs python3 with venv; uses the demo model of this repository (npm run demo fetches it).
set -eu
model=$(cd "$(dirname "$0")/.." && pwd)/models/offpeak-tiny.gguf
folder=$(mktemp -d)
trap 'kill "$server" 2>/dev/null; rm -rf "$folder"' EXIT
server=
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --only-binary :all: xllamacpp==2026.10.11549
"$folder/venv/bin/pip" list 2>/dev/null | grep xllamacpp
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$folder/venv/bin/python" - "$model" "$port" >"$folder/log" 2>&1 <<'PYTHON' &
import signal, sys, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.port, p.n_ctx, p.n_gpu_layers = sys.argv[1], int(sys.argv[2]), 1024, 0
server = xllamacpp.Server(p)
signal.pause()
PYTHON
server=$!
python3 - "$port" <<'PYTHON'
import json, re, sys, time, urllib.request

url = f"http://127.0.0.1:{sys.argv[1]}"
for _ in range(120):
    try:
        urllib.request.urlopen(f"{url}/health").read()
        break
    except OSError:
        time.sleep(1)

def answers(pattern):
    for seed in range(1, 6):
        schema = {"type": "string", "pattern": pattern}
        body = {
            "messages": [{"role": "user", "content": "A number, please."}],
            "max_tokens": 80, "temperature": 1, "seed": seed,
            "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}},
        }
        request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
        choice = json.load(urllib.request.urlopen(request))["choices"][0]
        # One that the limit cut may be nothing but white space, which the grammar allows before the string.
        if choice["finish_reason"] == "stop":
            yield choice["message"]["content"].strip()

held = {}
for pattern in [r"^\d{3}$", "^[0-9]{3}$"]:
    said = list(answers(pattern))
    held[pattern] = len(said) > 0 and all(re.fullmatch(r'"[0-9]{3}"', text) for text in said)
    print(pattern, "held" if held[pattern] else "NOT held", said)
sys.exit(0 if list(held.values()) == [False, True] else 1)
PYTHON
