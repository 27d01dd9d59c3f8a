import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bigGguf, loadableGguf } from '../support/gguf-files.ts';
import { startModelServer } from '../support/model-server.ts';
import type { ModelServer } from '../support/model-server.ts';
import { until } from '../support/until.ts';
import { createWorkspace } from './support/processes.ts';
import type { Workspace } from './support/processes.ts';

let place: Workspace;
let hub: ModelServer;
let env: Record<string, string>;

beforeEach(async () => {
  place = createWorkspace();
  hub = await startModelServer();
  env = { OFFPEAK_HF_ENDPOINT: hub.url };
});

afterEach(async () => {
  await place.remove();
  await hub.close();
});

const big = bigGguf(4);
const pulledPath = () => join(place.folder, 'offpeak-data/models/o/r/m.gguf');

interface State {
  done: [number, number][];
}

/** Number of downloaded bytes recorded on disk. */
function remembered(): number {
  if (!existsSync(`${pulledPath()}.part.json`)) return 0;
  const { done } = JSON.parse(readFileSync(`${pulledPath()}.part.json`, 'utf8')) as State;
  return done.reduce((sum, [start, end]) => sum + end - start, 0);
}

const sent = () => hub.hits.reduce((sum, hit) => sum + hit.sent, 0);

it('resumes a killed pull', async () => {
  hub.files.set('/o/r/resolve/main/m.gguf', { bytes: big, holdAfter: 2_000_000 });
  const pull = place.start(['models', 'pull', 'hf:o/r/m.gguf'], env);
  const before = await until('some of it is remembered', () => remembered() >= 1_500_000 && remembered());
  pull.child.kill('SIGKILL');
  await pull.exit;
  expect(existsSync(pulledPath())).toBe(false);
  expect(existsSync(`${pulledPath()}.part.lock.db`)).toBe(true);
  hub.release();
  hub.hits.length = 0;
  expect(await place.run(['models', 'pull', 'hf:o/r/m.gguf'], env)).toMatchObject({
    code: 0,
    out: `${pulledPath()}\n`,
  });
  expect(readFileSync(pulledPath()).equals(big)).toBe(true);
  // Plus the request for the first bytes.
  expect(sent()).toBeLessThanOrEqual(big.length - before + 4096);
  expect(readdirSync(dirname(pulledPath()))).toEqual(['m.gguf']);
});

it('a server downloads its model, is killed, downloads the rest and answers', async () => {
  const model = loadableGguf();
  hub.files.set('/o/r/resolve/main/m.gguf', { bytes: model, holdAfter: 100_000 });
  place.write(
    'offpeak.yaml',
    'models:\n  - id: m\n    engine: { kind: llama, path: "hf:o/r/m.gguf", sequences: 1 }\n',
  );
  const first = place.start(['serve', '--port', '0'], env);
  await first.line(/Fetching a model/);
  await until('some of it is remembered', () => remembered() > 0);
  first.child.kill('SIGKILL');
  await first.exit;
  hub.release();
  const second = place.start(['serve', '--port', '0', '--json', '--log-level', 'warn'], env);
  const ready = JSON.parse(await second.line(/^\{"url"/)) as { url: string; keys: { key: string } };
  expect(readFileSync(pulledPath()).equals(model)).toBe(true);
  const answer = await fetch(`${ready.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ready.keys.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 4 }),
  });
  expect(answer.status).toBe(200);
  second.child.kill('SIGTERM');
  expect((await second.exit).code).toBe(0);
  hub.hits.length = 0;
  const third = place.start(['serve', '--port', '0', '--json'], env);
  await third.line(/^\{"url"/);
  expect(hub.hits).toEqual([]);
});

it('a server that downloads its model stops at once and keeps the downloaded part', async () => {
  hub.files.set('/o/r/resolve/main/m.gguf', { bytes: big, holdAfter: 1_000_000 });
  place.write('offpeak.yaml', 'models:\n  - id: m\n    engine: { kind: llama, path: "hf:o/r/m.gguf" }\n');
  const server = place.start(['serve', '--port', '0'], env);
  await server.line(/"percent":2\d/);
  server.child.kill('SIGTERM');
  expect(await server.exit).toMatchObject({ code: 0, signal: null });
  expect(remembered()).toBeGreaterThan(0);
  expect(existsSync(`${pulledPath()}.part.lock.db`)).toBe(false);
});

it('a server reports why its model cannot be downloaded', async () => {
  hub.files.set('/o/r/resolve/main/m.gguf', { bytes: big, status: () => 401 });
  place.write('offpeak.yaml', 'models:\n  - id: m\n    engine: { kind: llama, path: "hf:o/r/m.gguf" }\n');
  const { code, err } = await place.run(['serve', '--port', '0'], env);
  expect(code).toBe(1);
  expect(err).toMatch(/Error: .* answered 401: this file needs permission\.\n.*OFFPEAK_HF_TOKEN/);
});

it('a failed first start, with a model that does not load, leaves the first keys to the next start', async () => {
  const model = loadableGguf();
  hub.files.set('/o/r/resolve/main/m.gguf', { bytes: model });
  const yaml = (sequences: number, context: number) =>
    `models:\n  - id: m\n    engine: { kind: llama, path: "hf:o/r/m.gguf", sequences: ${sequences}, context: ${context} }\n`;
  place.write('offpeak.yaml', yaml(256, 16_000_000));
  const inVain = await place.run(['serve', '--port', '0'], env);
  expect(inVain).toMatchObject({ code: 1, out: '', err: expect.stringContaining('of memory are free') });
  place.write('offpeak.yaml', yaml(1, 512));
  const server = place.start(['serve', '--port', '0', '--json', '--log-level', 'silent'], env);
  const ready = JSON.parse(await server.line(/^\{"url"/)) as { keys: unknown };
  expect(ready.keys).toEqual({ key: expect.any(String), admin_key: expect.any(String) });
});
