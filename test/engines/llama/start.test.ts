import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { StartError } from '../../../src/base/start-error.ts';
import { testEngine, user } from './engine-fixture.ts';
import { randomModelFile, writeRandomModel } from './random-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'offpeak-start-'));
const whole = randomModelFile({ contextLength: 8192 });
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  whole.remove();
});

async function startFailure(modelPath: string, options = {}): Promise<Error> {
  const { engine } = testEngine({ modelPath, ...options });
  const outcome: unknown = await engine.start().then(
    () => new Error('It started.'),
    (error: unknown) => error,
  );
  await engine.stop();
  expect(outcome).toBeInstanceOf(StartError);
  return outcome as Error;
}

function written(name: string, bytes: Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

test('a model file that is not there', async () => {
  const { message } = await startFailure(join(folder, 'missing.gguf'));
  expect(message).toMatch(/^The model file .*missing\.gguf cannot be read: ENOENT/);
});

test('a folder in place of a file', async () => {
  expect((await startFailure(folder)).message).toContain('is not a file');
});

test.each([
  ['nothing', Buffer.alloc(0)],
  ['something else', Buffer.from('Not a model at all, but a text.')],
  ['a header alone', readFileSync(whole.path).subarray(0, 3000)],
])('a file with %s in it', async (_, bytes) => {
  expect((await startFailure(written('broken.gguf', bytes))).message).toMatch(
    /is not a whole GGUF model file|is cut short/,
  );
});

test('a file cut short', async () => {
  const bytes = readFileSync(whole.path);
  expect((await startFailure(written('half.gguf', bytes.subarray(0, bytes.length / 2)))).message).toContain(
    'is cut short',
  );
  const { message } = await startFailure(written('almost.gguf', bytes.subarray(0, -64)));
  expect(message).toMatch(/almost\.gguf (cannot be loaded|is cut short)/);
});

test('a context that does not fit into memory is refused with one that does', async () => {
  const { message } = await startFailure(whole.path, { sequences: 512, contextSize: 10_000_000 });
  expect(message).toMatch(
    /512 sequences of 10000000 tokens need \d+ MB more, but only \d+ MB of memory are free/,
  );
  expect(message).toMatch(/This would fit: .*context: \d+/);
});

test('the context is at most 4,096 tokens unless it is asked for', async () => {
  const usual = testEngine({ modelPath: whole.path, sequences: 1 });
  await usual.engine.start();
  expect(usual.engine.capabilities.contextLength).toBe(4096);
  await usual.engine.stop();
  const asked = testEngine({ modelPath: whole.path, sequences: 1, contextSize: 300 });
  await asked.engine.start();
  expect(asked.engine.capabilities.contextLength).toBe(300);
  const { usage } = await asked.ask({ messages: user('x'.repeat(200)), logit_bias: { 69: 100 } });
  expect(usage.total_tokens).toBe(300);
  await asked.engine.stop();
});

test('half floats load as well, and a model without a template speaks ChatML', async () => {
  const path = join(folder, 'half-floats.gguf');
  writeRandomModel(path, { type: 'F16', contextLength: 512, template: '' });
  const { engine, ask } = testEngine({ modelPath: path, sequences: 1 });
  await engine.start();
  expect((await ask({ max_tokens: 4, logit_bias: { 69: 100 } })).choices[0]!.message.content).toBe('AAAA');
  await engine.stop();
});
