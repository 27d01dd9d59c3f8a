import { afterEach, describe, expect, it } from 'vitest';
import { isFinished } from '../support/api.ts';
import { chatLines, endings, parseLines } from '../support/batch-lines.ts';
import { completion, send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { install, upstreamYaml } from '../support/server-process.ts';
import type { Installation, ServerProcess } from '../support/server-process.ts';
import { pause } from '../support/until.ts';

// One request kills the server whenever it runs. It is identified and given up; every other line is answered.

// A process must have lived for a minute before it runs the line for the last time, which takes four seconds here.
const env = { NODE_OPTIONS: `--import=${new URL('../support/fast-clock.ts', import.meta.url).href}` };

let installation: Installation;
let upstream: FakeUpstream;

afterEach(async () => {
  await installation?.remove();
  await upstream?.close();
});

describe('F32: a line that kills the server', () => {
  it('is given up after a few deaths, and all others are answered', async () => {
    const lines = 300;
    let server: ServerProcess;
    upstream = await startFakeUpstream((response, { text }) => {
      const { messages } = JSON.parse(text) as { messages: { content: string }[] };
      const prompt = messages[0]!.content;
      if (prompt === 'row-17') return server.signal('SIGKILL');
      setTimeout(() => send(response, 200, completion(`Answer to ${prompt}`)), 10);
    });
    installation = install(upstreamYaml(upstream.url, { slots: 16 }));
    server = await installation.start({ env });
    const { id } = await server.api.createBatch({ requests: chatLines(lines) });

    let deaths = 0;
    let batch = await ended(server, id);
    while (!batch) {
      deaths++;
      expect(deaths).toBeLessThan(12);
      server = await installation.start({ env });
      batch = await ended(server, id);
    }
    console.info(`the poison request was identified after ${deaths} deaths`);

    expect(batch.status).toBe('completed');
    const output = (await server.api.results(id, 'output')).text;
    const errors = (await server.api.results(id, 'errors')).text;
    expect(endings(output, errors).distinct.size).toBe(lines);
    expect(batch.request_counts).toEqual({ total: lines, completed: lines - 1, failed: 1 });
    expect(parseLines(errors)).toMatchObject([
      { custom_id: 'row-17', response: null, error: { code: 'poison_request' } },
    ]);
    expect(deaths).toBe(4);
  });
});

/** Batch when it has ended, or undefined if the server died first. */
async function ended(server: ServerProcess, id: string) {
  const died = server.exited.then(() => 'died' as const);
  for (;;) {
    const seen = await Promise.race([died, server.api.batch(id).catch(() => undefined)]);
    if (seen === 'died') return undefined;
    if (seen && isFinished(seen)) return seen;
    await pause(10);
  }
}
