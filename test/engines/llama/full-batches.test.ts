import { execFile } from 'node:child_process';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { randomModelFile } from './random-model.ts';

test('each batch has a token of every answer', async () => {
  const model = randomModelFile({ contextLength: 512 });
  onTestFinished(() => model.remove());
  const script = fileURLToPath(new URL('batches-of.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, model.path], {
    env: { ...env, UV_THREADPOOL_SIZE: '1' },
  });
  const batches = JSON.parse(stdout) as number[];
  // Twelve answers of 32 tokens in four sequences.
  expect(batches).toEqual(Array.from({ length: (12 * 32) / 4 }, () => 4));
});
