#!/bin/sh
# With --parallel N, the llama.cpp server keeps the cache of each slot apart (kv_unified = false), and decodes each run of
# neighbouring slots in a pass of its own: 8 requests in slots 0, 2, 4, ... take as many passes for a token, and in slots 0 to 7
# one. Slots are given by age, so requests of different lengths spread: with 64 slots, 32 requests had lower throughput than 8
# or 64. With --kv-unified, which is the default without --parallel, the places make no difference.
# Exits non-zero when that changes. Needs python3 with venv; uses the demo model of this repository.
set -eu
model=$(cd "$(dirname "$0")/.." && pwd)/models/offpeak-tiny.gguf
folder=$(mktemp -d)
trap 'kill $server 2>/dev/null; rm -rf "$folder"' EXIT
server=
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --only-binary :all: xllamacpp==2026.10.11549
"$folder/venv/bin/pip" list 2>/dev/null | grep xllamacpp
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
ports=
for unified in False True; do
  at=$(port)
  "$folder/venv/bin/python" - "$model" "$at" "$unified" >"$folder/log" 2>&1 <<'PYTHON' &
import signal, sys, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.port, p.kv_unified = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True"
p.n_parallel, p.n_ctx, p.n_gpu_layers = 16, 16 * 512, 0
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(p)
signal.pause()
PYTHON
  server="$server $!"
  ports="$ports $at"
done
python3 - $ports <<'PYTHON'
import json, statistics, sys, threading, time, urllib.request

def post(url, body):
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))

def ms_per_token(url, slots):
    """Mean of the requests, by the server's own clock."""
    paces = []
    def one(slot):
        message = {"role": "user", "content": f"{slot} and {time.time()}"}
        body = {"messages": [message], "max_tokens": 200, "ignore_eos": True, "id_slot": slot}
        paces.append(post(url, body)["timings"]["predicted_per_token_ms"])
    threads = [threading.Thread(target=one, args=[slot]) for slot in slots]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return statistics.mean(paces)

slower = {}
for port, cache in zip(sys.argv[1:], ["apart", "unified"]):
    url = f"http://127.0.0.1:{port}"
    for _ in range(120):
        try:
            urllib.request.urlopen(f"{url}/health").read()
            break
        except OSError:
            time.sleep(1)
    rounds = [(ms_per_token(url, range(0, 16, 2)), ms_per_token(url, range(8))) for _ in range(6)]
    spread, neighbours = (statistics.median(times) for times in zip(*rounds[1:]))
    slower[cache] = spread / neighbours
    print(f"caches {cache}: 8 requests in every other slot {spread:.2f} ms a token, in neighbouring slots {neighbours:.2f} ms: {slower[cache]:.2f} times")
sys.exit(0 if slower["apart"] > 1.5 and slower["unified"] < 1.3 else 1)
PYTHON
