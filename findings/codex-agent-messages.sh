#!/usr/bin/env bash
# Codex passes a task to a sub-agent as an agent_message item. Its encrypted_content part is plain text if the provider is not
# OpenAI. A server that drops the item or the part starts a sub-agent without a task.
# Needs node and npm. Exits with 1 when Codex behaves differently.
set -eu
version=0.169.0
folder=$(mktemp -d "${HOME}/.finding-XXXXXX")
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund "@openai/codex@$version"

cat > server.mjs <<'SERVER'
import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';

const call = {
  type: 'function_call', id: 'fc_1', call_id: 'call_1', status: 'completed',
  namespace: 'collaboration', name: 'spawn_agent',
  arguments: JSON.stringify({ task_name: 'child', message: 'Count the files.', fork_turns: 'none' }),
};
const text = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Done.', annotations: [] }] };
const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2, input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };

const server = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  if (request.method !== 'POST') return response.writeHead(404).end();
  const { input } = JSON.parse(body);
  const task = input.find((item) => item.type === 'agent_message');
  if (task) writeFileSync('task.json', JSON.stringify(task, null, 2));
  const isFirst = !input.some(({ type }) => type === 'function_call_output' || type === 'agent_message');
  const item = isFirst ? call : text;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const tell = (event) => response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  tell({ type: 'response.created', response: { id: 'resp_1' } });
  tell({ type: 'response.output_item.done', output_index: 0, item });
  tell({ type: 'response.completed', response: { id: 'resp_1', output: [item], usage } });
  response.end();
});
server.listen(0, '127.0.0.1', () => writeFileSync('port', String(server.address().port)));
SERVER
node server.mjs &
server=$!
until [ -s port ]; do sleep 0.1; done

export CODEX_HOME=$folder/home OFFPEAK_FINDING_KEY=none HTTPS_PROXY=http://127.0.0.1:9 NO_PROXY=127.0.0.1
mkdir "$CODEX_HOME"
./node_modules/.bin/codex --version
./node_modules/.bin/codex exec --skip-git-repo-check --sandbox read-only --enable multi_agent_v2 -m gpt-5.5 \
  -c analytics.enabled=false -c check_for_update_on_startup=false -c 'model_provider="scripted"' \
  -c "model_providers.scripted={name=\"scripted\",base_url=\"http://127.0.0.1:$(cat port)/v1\",env_key=\"OFFPEAK_FINDING_KEY\",wire_api=\"responses\"}" \
  'Delegate it.' < /dev/null > codex.log 2>&1 || true
for _ in $(seq 100); do [ -s task.json ] && break; sleep 0.1; done
[ -s task.json ] || { tail -20 codex.log; echo 'CHANGED: no agent_message came'; exit 1; }
cat task.json; echo
node -e '
  const { content } = JSON.parse(require("node:fs").readFileSync("task.json", "utf8"));
  const sealed = content.find(({ type }) => type === "encrypted_content")?.encrypted_content;
  if (sealed !== "Count the files.") { console.log("CHANGED: encrypted_content is", sealed); process.exit(1); }
  console.log("encrypted_content holds the task as plain text, and no other part does.");
'
