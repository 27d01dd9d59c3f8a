import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { systemClock } from '../../src/base/system.ts';
import { type Spawn, spawnChild } from '../../src/engines/llama/child-process.ts';
import type { ToChild } from '../../src/engines/llama/protocol.ts';
import { randomModelFile } from '../engines/llama/random-model.ts';
import { startApp, testModel } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLine, endings, parseLines } from '../support/batch-lines.ts';

// A request that kills the engine process affects only itself; one that hangs it is detected.
// The process is real, except that the test kills or stops it when it gets a certain request.

const model = randomModelFile({ seed: 3, contextLength: 512 });
const pids: number[] = [];
let hangs = 0;

const spawnFragile: Spawn = (events) => {
  const child = spawnChild(events);
  pids.push(child.pid!);
  return {
    pid: child.pid,
    kill: () => child.kill(),
    send(message) {
      child.send(message);
      if (says(message, 'KILL')) child.kill();
      if (says(message, 'HANG') && hangs++ === 0) process.kill(child.pid!, 'SIGSTOP');
    },
  };
};

function says(message: ToChild, word: string): boolean {
  return message.type === 'ask' && JSON.stringify(message.ask.request.messages).includes(word);
}

// Shortens the watchdog's 30 s to 3 s.
const hurried: Clock = { ...systemClock, after: (ms, fn) => systemClock.after(ms / 10, fn) };

let running: RunningApp;

beforeAll(async () => {
  const engine = { kind: 'llama', path: model.path, sequences: 4, context: 512, threads: 1 } as const;
  running = await startApp({
    models: [testModel({ ...engine, flashAttention: false })],
    overrides: { spawn: spawnFragile, clock: hurried },
  });
});
afterAll(async () => {
  await running?.stop();
  model.remove();
});

const short = { max_tokens: 6, temperature: 0 };

describe('F32, F42: a batch on the embedded engine', () => {
  it('loses only the line that kills the process', async () => {
    const { api } = running;
    const before = pids.length;
    const lines = Array.from({ length: 30 }, (_, n) => chatLine(`row-${n}`, `Count to ${n}`, short));
    lines.splice(11, 0, chatLine('poison', 'KILL', short));
    const batch = await api.finished((await api.createBatch((await api.upload(lines)).id)).id);
    expect(batch).toMatchObject({
      status: 'completed',
      request_counts: { total: 31, completed: 30, failed: 1 },
      error_summary: [{ code: 'poison_request', count: 1 }],
    });
    const [output, errors] = [await api.results(batch.id, 'output'), await api.results(batch.id, 'errors')];
    expect(parseLines(errors.text)).toMatchObject([
      { custom_id: 'poison', response: null, error: { code: 'poison_request', retryable: false } },
    ]);
    const { all, distinct } = endings(output.text, errors.text);
    expect([all.length, distinct.size]).toEqual([31, 31]);
    // It had two attempts, and the process has restarted.
    expect(pids.length - before).toBe(2);
  });

  it('answers every line even if the process hangs', async () => {
    const { api } = running;
    const before = [...pids];
    const lines = Array.from({ length: 12 }, (_, n) =>
      chatLine(`row-${n}`, n === 5 ? 'HANG' : `${n}`, short),
    );
    const batch = await api.finished((await api.createBatch((await api.upload(lines)).id)).id);
    expect(batch.request_counts).toEqual({ total: 12, completed: 12, failed: 0 });
    expect(pids.length - before.length).toBe(1);
    // The hanging process has ended.
    expect(() => process.kill(before.at(-1)!, 0)).toThrow('ESRCH');
  });

  it('answers a call that waits while the process restarts', async () => {
    process.kill(pids.at(-1)!, 'SIGKILL');
    const answer = await running.api.send('/v1/chat/completions', {
      json: { model: 'default', messages: [{ role: 'user', content: 'Still there?' }], ...short },
    });
    expect(answer.status).toBe(200);
  });
});
