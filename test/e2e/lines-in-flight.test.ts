import { hash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, it } from 'vitest';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLine, jsonl, parseLines } from '../support/batch-lines.ts';
import { complete, send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Answer, FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';

// What a line takes while its server works on it.

let running: RunningApp;
let upstream: FakeUpstream;

afterEach(async () => {
  await running?.stop();
  await upstream?.close();
});

const slots = 8;
const megabyte = 1024 * 1024;

/** Two bytes a letter in memory, three on the wire. */
const long = '中'.repeat(megabyte / 2);

it('has no text of a line in flight but what was sent, and sends it once more, to the byte, after a failure', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const heap = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const held: (() => void)[] = [];
  const first = new Map<string, string>();
  const again: boolean[] = [];
  /** The first time every request waits, and fails; the second time it is answered. */
  const answer: Answer = (response, request) => {
    const id = /"content":"(row-\d+) /.exec(request.text)![1]!;
    const sum = hash('sha256', request.text);
    // Nothing of it is kept here.
    request.text = '';
    const before = first.get(id);
    if (before === undefined) {
      first.set(id, sum);
      held.push(() => send(response, 500, { error: { message: 'broken' } }));
    } else {
      again.push(before === sum);
      complete(`${id} is done.`)(response, request);
    }
  };
  upstream = await startFakeUpstream(answer);
  running = await startApp({ models: [testModel(upstreamEngine(upstream.url, slots))] });
  const lines = Array.from({ length: slots }, (_, n) => chatLine(`row-${n}`, `row-${n} ${long}`));
  const file = await running.api.upload(jsonl(lines));
  const before = heap();
  const { id } = await running.api.createBatch(file.id);
  await until('all are in flight', () => held.length === slots);
  const grown = heap() - before;
  expect(grown).toBeLessThan((slots * megabyte) / 4);
  for (const fail of held) fail();
  const { request_counts: counts } = await running.api.finished(id);
  expect(counts).toEqual({ total: slots, completed: slots, failed: 0 });
  expect(again).toEqual(Array.from({ length: slots }, () => true));
  const { text } = await running.api.results(id, 'output');
  const told = parseLines(text).map(({ response }) => response!.body.choices[0]!.message.content);
  expect(new Set(told)).toEqual(new Set(lines.map(({ custom_id: name }) => `${name} is done.`)));
});
