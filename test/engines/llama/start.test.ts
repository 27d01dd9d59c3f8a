import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { StartError } from '../../../src/base/start-error.ts';
import { systemClock } from '../../../src/base/system.ts';
import { readModel } from '../../../src/engines/llama/files/read-model.ts';
import { readShape } from '../../../src/engines/llama/gguf/shape.ts';
import { loadModel } from '../../../src/engines/llama/inference/loading/load.ts';
import { planContext, processBytes } from '../../../src/engines/llama/inference/loading/memory.ts';
import type { LoadOptions } from '../../../src/engines/llama/protocol.ts';
import { testEngine, user } from './engine-fixture.ts';
import { randomModelFile, writeRandomModel, writeSplitModel } from './random-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'offpeak-start-'));
const whole = randomModelFile({ contextLength: 8192 });
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  whole.remove();
});

/** Error of loading a model in this process; all of them precede the call of llama.cpp. */
async function complaint(modelPath: string, options: Partial<LoadOptions> = {}): Promise<string> {
  const usual = { sequences: 1, contextSize: 'auto', threads: 1, flashAttention: false } as const;
  const outcome: unknown = await loadModel({ modelPath, ...usual, ...options }, { clock: systemClock }).then(
    () => new Error('It was loaded.'),
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(StartError);
  return (outcome as Error).message;
}

function written(name: string, bytes: Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

/** Error that the engine reports from its child process. */
async function startFault(modelPath: string): Promise<string> {
  const { engine } = testEngine({ modelPath });
  const outcome: unknown = await engine.start().catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(StartError);
  await engine.stop();
  return (outcome as Error).message;
}

test('a missing model file fails the start with its path', async () => {
  expect(await startFault(join(folder, 'missing.gguf'))).toMatch(/^There is no file .*missing\.gguf\.$/);
});

test('a folder in place of a file fails the start', async () => {
  expect(await complaint(folder)).toContain('is not a file');
});

test.each([
  ['no content', Buffer.alloc(0)],
  ['other content', Buffer.from('Not a model at all, but a text.')],
  ['the first half of the header', readFileSync(whole.path).subarray(0, 1000)],
])('a file with %s fails the start', async (_, bytes) => {
  expect(await complaint(written('broken.gguf', bytes))).toMatch(/is not a GGUF model file|is truncated/);
});

test('a truncated file fails the start', async () => {
  const bytes = readFileSync(whole.path);
  expect(await complaint(written('half.gguf', bytes.subarray(0, bytes.length / 2)))).toContain(
    'is truncated',
  );
  expect(await startFault(written('almost.gguf', bytes.subarray(0, -64)))).toMatch(
    /almost\.gguf is truncated: it has \d+ of \d+ bytes\. Fetch it again\.$/,
  );
});

test('a context that does not fit into memory is rejected, naming one that does', async () => {
  const message = await complaint(whole.path, { sequences: 512, contextSize: 10_000_000 });
  expect(message).toMatch(
    /512 sequences of 10000000 tokens need \d+ MB more and the work .* \d+ MB, but only \d+ MB of memory are free/,
  );
  expect(message).toMatch(/This would fit: .*context: \d+/);
});

test('the planned memory is what llama.cpp reports, and little more', async () => {
  const control = Array.from({ length: 30_000 }, (_, n) => `<|${n}|>`);
  const wordy = randomModelFile({ contextLength: 512, control });
  onTestFinished(() => wordy.remove());
  const cases: [string, number, number, boolean][] = [
    [whole.path, 8192, 2, false],
    [whole.path, 8192, 2, true],
    [whole.path, 1024, 16, false],
    [wordy.path, 512, 4, false],
  ];
  for (const [modelPath, contextSize, sequences, flashAttention] of cases) {
    const options = { modelPath, contextSize, sequences, flashAttention, threads: 1 };
    const { llama, model, context, fileBytes } = await loadModel(options, { clock: systemClock });
    const { headers } = await readModel(modelPath, { stat });
    const plan = planContext(readShape(headers, fileBytes), options, Infinity);
    const { cpuRam } = await model.fileInsights.estimateContextResourceRequirementsV2({
      contextSize,
      sequences,
      flashAttention,
      batchSize: context.batchSize,
      modelGpuLayers: 0,
    });
    const planned = plan.cacheBytes + plan.workBytes - processBytes;
    expect(planned).toBeGreaterThan(cpuRam * 0.95);
    expect(planned).toBeLessThan(cpuRam * 1.2 + 4 * 1024 ** 2);
    await llama.dispose();
  }
});

test('a split model needs the memory of all its files, and each must be complete', async () => {
  const paths = writeSplitModel(folder, { contextLength: 512 });
  const { llama, fileBytes } = await loadModel(
    { modelPath: paths[0], sequences: 1, contextSize: 'auto', threads: 1, flashAttention: false },
    { clock: systemClock },
  );
  expect(fileBytes).toBe(statSync(paths[0]).size + statSync(paths[1]).size);
  await llama.dispose();
  writeFileSync(paths[1], readFileSync(paths[1]).subarray(0, -64));
  expect(await complaint(paths[0])).toMatch(/random-00002-of-00002\.gguf is truncated/);
  rmSync(paths[1]);
  expect(await complaint(paths[0])).toMatch(/^There is no file .*random-00002-of-00002\.gguf/);
});

test('half floats load with the configured context and the default template, ChatML', async () => {
  const path = join(folder, 'half-floats.gguf');
  writeRandomModel(path, { type: 'F16', contextLength: 2048, template: '' });
  const { engine, ask } = testEngine({ modelPath: path, sequences: 1, contextSize: 300 });
  await engine.start();
  expect(engine.capabilities.contextLength).toBe(300);
  const { usage, choices } = await ask({ messages: user('x'.repeat(200)), logit_bias: { 69: 100 } });
  expect(usage.total_tokens).toBe(300);
  expect(choices[0]!.message.content).toMatch(/^A+$/);
  await engine.stop();
});

test('threads are measured for a large model, or configured', async () => {
  const options = { modelPath: whole.path, sequences: 1, contextSize: 300, flashAttention: false };
  const { llama, threads } = await loadModel(
    { ...options, threads: 'auto' },
    { clock: systemClock, calibrateFrom: 0, cores: 3 },
  );
  expect([1, 2]).toContain(threads);
  await llama.dispose();
  const small = await loadModel({ ...options, threads: 'auto' }, { clock: systemClock, cores: 3 });
  expect(small.threads).toBe(1);
  await small.llama.dispose();
  const loaded = await loadModel({ ...options, threads: 2 }, { clock: systemClock, calibrateFrom: 0 });
  expect(loaded.threads).toBe(2);
  await loaded.llama.dispose();
});

test('a model of an unknown architecture fails the start', async () => {
  const bytes = readFileSync(whole.path);
  const name = Buffer.from('general.architecture');
  const at = bytes.indexOf(name) + name.length + 4 + 8;
  expect(bytes.subarray(at, at + 5).toString()).toBe('llama');
  bytes.write('lhama', at);
  const path = written('foreign.gguf', bytes);
  expect(await complaint(path)).toMatch(/foreign\.gguf .*lhama/);
});
