import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Router } from '../../../src/core/router.ts';
import { startApp, testModel, upstreamEngine } from '../../support/app.ts';
import { chatLines, endings } from '../../support/batch-lines.ts';
import { completion, type FakeUpstream, send, startFakeUpstream } from '../../support/fake-upstream.ts';
import { freePort } from '../../support/free-port.ts';
import { installPython, pythonIn } from '../../support/install-packages.ts';
import { until } from '../../support/until.ts';

// The vLLM router from PyPI in front of several scripted servers.

const root = fileURLToPath(new URL('../../..', import.meta.url));
const installed = await installPython(join(root, 'node_modules/.cache/offpeak-engines/vllm-router'), [
  'vllm-router==0.1.17',
]);
if ('missing' in installed) console.warn(`SKIPPED: not tested with the vLLM router: ${installed.missing}`);

const router: Router = { kind: 'vllm', objectiveHeaders: [], fairnessHeaders: [], objectives: {} };
const workers = 3;
const lines = 300;

describe.skipIf('missing' in installed)('Offpeak in front of the vLLM router', () => {
  const servers: FakeUpstream[] = [];
  const answered = new Map<string, number>();
  let running: ChildProcess;
  let url: string;
  let held = 0;

  beforeAll(async () => {
    for (let at = 0; at < workers; at++)
      servers.push(
        await startFakeUpstream((response, { path, text }) => {
          if (!path.endsWith('/chat/completions'))
            return send(response, 200, path.endsWith('/health') ? '' : {});
          held += 1;
          setTimeout(() => {
            held -= 1;
            const { content } = (JSON.parse(text) as { messages: { content: string }[] }).messages[0]!;
            answered.set(content, (answered.get(content) ?? 0) + 1);
            send(response, 200, completion('Hello.', { model: 'real-name' }));
          }, 100);
        }),
      );
    for (const server of servers)
      server.models = (response) => send(response, 200, { object: 'list', data: [{ id: 'real-name' }] });
    const [port, metrics] = [await freePort(), await freePort()];
    url = `http://127.0.0.1:${port}/v1`;
    const limits =
      '--disable-retries --disable-circuit-breaker --max-concurrent-requests 12 --queue-size 4 --health-check-interval-secs 2';
    running = spawn(
      pythonIn((installed as { folder: string }).folder),
      [
        '-m',
        'vllm_router.launch_router',
        '--worker-urls',
        ...servers.map((server) => `http://127.0.0.1:${server.port}`),
        ...`--port ${port} --prometheus-port ${metrics} --policy round_robin ${limits}`.split(' '),
      ],
      { stdio: 'ignore' },
    );
    await until('the router is ready', async () => {
      const response = await fetch(`${url}/models`).catch(() => undefined);
      return response?.ok === true;
    });
  });

  afterAll(async () => {
    running?.kill('SIGKILL');
    await Promise.all(servers.map((server) => server.close().catch(() => {})));
  });

  it('completes every line once while a server behind the router dies', async () => {
    const engine = { ...upstreamEngine(url), flavor: 'vllm' as const, router };
    engine.replicas[0]!.slots = null;
    const app = await startApp({ models: [testModel(engine)] });
    const batch = await app.api.createBatch({ requests: chatLines(lines) });
    await until('a third is done', () => answered.size > lines / 3);
    await servers[0]!.close();
    const { request_counts: counts } = await app.api.finished(batch.id);
    expect(counts).toEqual({ total: lines, completed: lines, failed: 0 });
    const [output, errors] = await Promise.all([
      app.api.results(batch.id, 'output'),
      app.api.results(batch.id, 'errors'),
    ]);
    const { all, distinct } = endings(output.text, errors.text);
    expect([all.length, distinct.size]).toEqual([lines, lines]);
    await app.stop();
  });

  it('ends what the client cancels', async () => {
    await until('the servers are idle', () => held === 0);
    const abort = new AbortController();
    const asked = fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'real-name', messages: [{ role: 'user', content: 'bye' }] }),
      signal: abort.signal,
    }).catch(() => undefined);
    const { received } = servers[1]!;
    await pause(50);
    abort.abort();
    await asked;
    await until('the server notices', () =>
      [...received, ...servers[2]!.received].some((each) => each.aborted),
    );
  });
});
