#!/bin/sh
# inspect_ai loses the answers of a whole OpenAI batch when one of its requests expired: it takes the `code` of the error, which OpenAI
# documents as "batch_expired", for an HTTP status. Both samples fail with a TypeError, although one was answered (and is billed).
# Exits non-zero when that changes. Needs python3 with venv.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --only-binary :all: inspect-ai==0.3.285 openai==3.57.0
cat >lose.py <<'PYTHON'
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import BatchConfig, GenerateConfig, get_model

ids = []
batch = {"id": "batch_1", "object": "batch", "endpoint": "/v1/chat/completions", "input_file_id": "file-in",
         "completion_window": "24h", "status": "expired", "created_at": 1_700_000_000,
         "output_file_id": "file-out", "error_file_id": "file-err",
         "request_counts": {"total": 2, "completed": 1, "failed": 1}}
answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "any",
          "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "4"}}],
          "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
expired = {"code": "batch_expired", "message": "This request could not be executed before the completion window expired."}


class OpenAI(BaseHTTPRequestHandler):
    def reply(self, text):
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(text.encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        if self.path.endswith("/files"):
            ids.extend(json.loads(line)["custom_id"] for line in body.splitlines() if line.startswith("{"))
            self.reply(json.dumps({"id": "file-in", "object": "file", "bytes": 1, "created_at": 1_700_000_000,
                                   "filename": "in.jsonl", "purpose": "batch", "status": "processed"}))
        else:
            self.reply(json.dumps(batch))

    def do_GET(self):
        if self.path.endswith("/file-out/content"):
            response = {"status_code": 200, "request_id": "req_1", "body": answer}
            self.reply(json.dumps({"id": "1", "custom_id": ids[0], "response": response, "error": None}))
        elif self.path.endswith("/file-err/content"):
            self.reply(json.dumps({"id": "2", "custom_id": ids[1], "response": None, "error": expired}))
        else:
            self.reply(json.dumps(batch))

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), OpenAI)
Thread(target=server.serve_forever, daemon=True).start()
config = GenerateConfig(batch=BatchConfig(size=2, send_delay=1, tick=0.2))
url = f"http://127.0.0.1:{server.server_port}/v1"
model = get_model("openai/any", base_url=url, api_key="x", config=config, responses_api=False)
dataset = [Sample(input="2 + 2?"), Sample(input="3 + 3?")]
[log] = eval(Task(dataset=dataset), model=model, display="none", log_dir="logs", fail_on_error=False)
for sample in log.samples:
    print(repr(sample.output.completion), sample.error and sample.error.message)
raise SystemExit(0 if all(sample.error and "TypeError" in sample.error.message for sample in log.samples) else 1)
PYTHON
venv/bin/pip list 2>/dev/null | grep -E 'inspect|openai'
NO_PROXY='*' venv/bin/python lose.py
