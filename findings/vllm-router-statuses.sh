#!/bin/sh
# The vLLM router 0.1.17 does not speak as its servers do:
# - `/metrics` at its own port is that of one of its servers, so `vllm:num_requests_waiting` is not the queue of all.
# - A full queue (--max-concurrent-requests, --queue-size) is a 408 without a body and without Retry-After, not a 429.
# - With no server left it answers 500 in plain text, and `/readiness` still counts every server as healthy.
# Guessed before the run: own metrics there, 429, and 502 or 503. Exits non-zero when that changes.
# Needs python3 with venv. The servers are a few lines of Python.
set -eu
folder=$(mktemp -d)
router=
trap 'kill "$router" 2>/dev/null; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --only-binary :all: vllm-router==0.1.17
ports=$(python3 -c 'import socket
taken = [socket.socket() for _ in range(4)]
for each in taken: each.bind(("127.0.0.1", 0))
print(*(each.getsockname()[1] for each in taken))')
set -- $ports
"$folder/venv/bin/vllm-router" --port "$1" --prometheus-port "$2" --policy round_robin --disable-retries \
  --worker-urls "http://127.0.0.1:$3" "http://127.0.0.1:$4" --max-concurrent-requests 2 --queue-size 1 >"$folder/log" 2>&1 &
router=$!
python3 - "$@" <<'PYTHON'
import concurrent.futures, http.server, json, sys, threading, time, urllib.error, urllib.request

router, _, *ports = map(int, sys.argv[1:])
chat = {"id": "x", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}

class Server(http.server.BaseHTTPRequestHandler):
    def reply(self, body):
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        waiting = self.server.server_address[1]
        self.reply(f'vllm:num_requests_waiting{{model_name="m"}} {waiting}\n'.encode() if self.path == "/metrics"
                   else json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode())
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        time.sleep(1)
        self.reply(json.dumps(chat).encode())
    def log_message(self, *_):
        pass

servers = [http.server.ThreadingHTTPServer(("127.0.0.1", port), Server) for port in ports]
for server in servers:
    threading.Thread(target=server.serve_forever, daemon=True).start()

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{router}{path}", data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, reply.headers.get("retry-after"), reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("retry-after"), error.read().decode()

for _ in range(60):
    try:
        if ask("/v1/models")[0] == 200:
            break
    except OSError:
        pass
    time.sleep(1)

message = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
metrics = [line for line in ask("/metrics")[2].splitlines() if line.startswith("vllm:num_requests_waiting")]
print("metrics at its port:", metrics)
with concurrent.futures.ThreadPoolExecutor(12) as pool:
    refused = [reply for reply in pool.map(lambda _: ask("/v1/chat/completions", message), range(12)) if reply[0] != 200]
print("full queue:", sorted(set(refused)))
for server in servers:
    server.shutdown()
    server.server_close()
away = ask("/v1/chat/completions", message)
ready = ask("/readiness")
print("no server left:", away[:2], away[2][:60], "readiness:", ready[2])
same = (len(metrics) == 1 and set(refused) == {(408, None, "")} and away[0] == 500
        and away[2].startswith("Request failed: error sending request") and json.loads(ready[2])["healthy_workers"] == 2)
sys.exit(0 if same else 1)
PYTHON
