import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { systemClock } from '../../../src/base/system.ts';
import { testEngine, user } from './engine-fixture.ts';
import { randomModelFile } from './random-model.ts';

const model = randomModelFile({ seed: 9, contextLength: 2048 });
afterAll(() => model.remove());

const long = { messages: user('Go on'), max_tokens: 400, logit_bias: { 69: 100 } };

/** Clock whose timers fire when `fire` is called. */
function clockByHand(): { clock: Clock; fire: () => void } {
  const timers = new Set<() => void>();
  return {
    clock: {
      ...systemClock,
      after(_, fn) {
        timers.add(fn);
        return { cancel: () => timers.delete(fn) };
      },
    },
    fire() {
      const due = [...timers];
      timers.clear();
      for (const fn of due) fn();
    },
  };
}

describe('when the engine process', () => {
  const { engine, ask } = testEngine({ modelPath: model.path });
  beforeAll(() => engine.start());
  afterAll(() => engine.stop());

  test('is killed, the requests it had are answered by the next one', async () => {
    const before = engine.pid!;
    const answers = Array.from({ length: 6 }, (_, i) =>
      ask({ ...long, max_tokens: 40, messages: user(`${i}`) }),
    );
    process.kill(before, 'SIGKILL');
    for (const { usage } of await Promise.all(answers)) expect(usage.completion_tokens).toBe(40);
    expect(engine.pid).not.toBe(before);
  });

  test('is killed in the middle of a stream, the stream ends with an error', async () => {
    const stream = engine.stream(
      { value: { model: 'random', ...long }, text: '' },
      { signal: new AbortController().signal, priority: 'interactive' },
    );
    const read = async (): Promise<void> => {
      for await (const [chunk] of stream)
        if (chunk?.choices[0]?.delta.content) process.kill(engine.pid!, 'SIGKILL');
    };
    await expect(read()).rejects.toMatchObject({ code: 'upstream_error', status: 502 });
    expect((await ask({ ...long, max_tokens: 3 })).usage.completion_tokens).toBe(3);
  });
});

test('a hanging engine process is detected, killed and replaced', async () => {
  const { clock, fire } = clockByHand();
  const { engine, ask } = testEngine({ modelPath: model.path, clock });
  await engine.start();
  const before = engine.pid!;
  process.kill(before, 'SIGSTOP');
  const answer = ask({ ...long, max_tokens: 3 });
  await expect
    .poll(
      () => {
        if (engine.pid === before || engine.pid === undefined) fire();
        return engine.pid;
      },
      { interval: 5 },
    )
    .toSatisfy((pid) => pid !== undefined && pid !== before);
  expect((await answer).usage.completion_tokens).toBe(3);
  await engine.stop();
});

describe('stop', () => {
  test('rejects unfinished requests and ends the process', async () => {
    const { engine, ask } = testEngine({ modelPath: model.path });
    await engine.start();
    const pid = engine.pid!;
    const unfinished = Array.from({ length: 9 }, () => ask(long));
    const outcomes = Promise.allSettled(unfinished);
    await Promise.all([engine.stop(), engine.stop()]);
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'shutting_down' } });
    }
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    await expect(ask('Hello')).rejects.toMatchObject({ code: 'shutting_down' });
  });

  test('is possible before and during start', async () => {
    const { engine, ask } = testEngine({ modelPath: model.path });
    await engine.stop();
    const starting = engine.start();
    const outcome = expect(starting).rejects.toThrow('stopped while it started');
    await engine.stop();
    await outcome;
    await engine.start();
    expect((await ask({ ...long, max_tokens: 2 })).usage.completion_tokens).toBe(2);
    await engine.stop();
  });
});

test('the engine process dies with a parent that is killed', async () => {
  const source = (path: string): string => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)));
  const program = `
    import { testEngine } from ${source('./engine-fixture.ts')};
    const { engine } = testEngine({ modelPath: ${JSON.stringify(model.path)} });
    await engine.start();
    console.log(engine.pid);
  `;
  const parent = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = Number(await firstLine(parent.stdout));
  expect(isAlive(pid)).toBe(true);
  parent.kill('SIGKILL');
  await expect.poll(() => isAlive(pid)).toBe(false);
});

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stream })) return line;
  throw new Error('The process said nothing.');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
