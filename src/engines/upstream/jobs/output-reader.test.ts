import { beforeEach, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../../../test/support/manual-clock.ts';
import { createMemoryJobs, type MemoryJobs } from '../../../../test/support/jobs/memory-jobs.ts';
import { OutputReader } from './output-reader.ts';

const mebibyte = 1024 * 1024;
const never = new AbortController().signal;

let clock: ManualClock;
let storage: MemoryJobs;
let reader: OutputReader;

beforeEach(() => {
  clock = createManualClock();
  storage = createMemoryJobs();
  reader = new OutputReader(storage, 'job', clock);
});

async function read(hasEnded = false): Promise<string[]> {
  const found: string[] = [];
  for await (const line of reader.lines(hasEnded, never)) found.push(Buffer.from(line).toString());
  return found;
}

const replace = (part: string, text: string) => storage.files.set(`job/output/${part}`, Buffer.from(text));

it('reads each whole line once, of all parts', async () => {
  storage.append('job', 'a.jsonl', 'one\ntwo\n');
  storage.append('job', 'deep/b.json', 'three\n');
  expect(await read()).toEqual(['one', 'two', 'three']);
  storage.append('job', 'a.jsonl', 'four\n');
  expect(await read()).toEqual(['four']);
  expect(await read(true)).toEqual([]);
});

it('waits for the rest of a line, and takes it without its end once the job is over', async () => {
  storage.append('job', 'a.jsonl', 'one\ntw');
  expect(await read()).toEqual(['one']);
  storage.append('job', 'a.jsonl', 'o\nthr');
  expect(await read()).toEqual(['two']);
  expect(await read(true)).toEqual(['thr']);
  expect(await read(true)).toEqual([]);
});

it('reads a part anew that was written anew', async () => {
  replace('a.jsonl', 'one\ntwo\nthree\n');
  await read();
  replace('a.jsonl', 'four\n');
  expect(await read()).toEqual(['four']);
});

it('ignores files that are being written and those of other kinds', async () => {
  for (const name of ['.a.jsonl', '_tmp/a.jsonl', 'a.jsonl.tmp', 'log.txt']) replace(name, 'one\n');
  expect(await read(true)).toEqual([]);
});

it('reads lines across blocks', async () => {
  const long = 'x'.repeat(3 * mebibyte);
  replace('a.jsonl', `${long}\n${'y'.repeat(mebibyte - 1)}\nend`);
  const reading = read(true);
  await clock.advance(10_000);
  const found = await reading;
  expect(found.map(({ length }) => length)).toEqual([3 * mebibyte, mebibyte - 1, 3]);
});

it('skips a line that is too long, and reads on behind it', async () => {
  replace('a.jsonl', `one\n${'x'.repeat(65 * mebibyte)}\ntwo\n`);
  const reading = read();
  await clock.advance(60_000);
  expect(await reading).toEqual(['one', 'two']);
});

it('pauses, so that a large output does not fill the memory', async () => {
  replace('a.jsonl', `${'x'.repeat(mebibyte)}\n`.repeat(16));
  let count = 0;
  const reading = (async () => {
    for await (const _ of reader.lines(false, never)) count++;
  })();
  await clock.advance(0);
  expect(count).toBeLessThan(5);
  await clock.advance(2_000);
  await reading;
  expect(count).toBe(16);
});
