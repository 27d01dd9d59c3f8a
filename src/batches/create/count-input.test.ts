import { expect, it } from 'vitest';
import { makeInput } from '../../../test/simulation/input.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { createMemoryBlobs } from '../../../test/support/memory-blobs.ts';
import { createCatalog } from '../../core/model.ts';
import { ApiError } from '../../core/errors.ts';
import type { Inference } from '../../inference/inference.ts';
import { countInput } from './count-input.ts';

const prices = { input: 0, cachedInput: 0, output: 0 };
const catalog = createCatalog(
  ['m1', 'm2'].map((id) => ({ id, aliases: [], serves: ['chat' as const], prices, createdAt: 0 })),
);

function counting(models: string[], countLine: Inference['countLine'], field = 'content') {
  const clock = createManualClock();
  const blobs = createMemoryBlobs();
  const input = makeInput(
    {
      name: 'b0',
      orgId: 'o',
      endpoint: '/v1/chat/completions',
      lines: models.map((model) => ({ kind: 'plain', model, system: null, delayMs: 0 })),
      createAt: 0,
      cancelAt: null,
    },
    0,
  );
  const text = Buffer.from(input.bytes).toString().replaceAll('"content"', `"${field}"`);
  blobs.put(input.file.blobId, Buffer.from(text));
  // Other bytes.
  delete input.index.sum;
  const deps = { blobs, clock, catalog, inference: { countLine } };
  return { clock, counted: countInput(deps, 'o', { ...input, sealed: null }) };
}

const lines = (count: number) => Array.from({ length: count }, () => 'm1');

it('counts every line by its model, and stops at one that cannot count', async () => {
  const models = [...lines(20), ...Array.from({ length: 20 }, () => 'm2'), ...lines(20)];
  const asked: string[] = [];
  const { counted } = counting(models, async ({ model, asked: line }) => {
    asked.push(model.id);
    return model.id === 'm2' || line.kind !== 'chat' ? undefined : line.chat.messages.length;
  });
  expect(await counted).toEqual(models.map((model) => (model === 'm1' ? 1 : undefined)));
  expect(asked.filter((id) => id === 'm1')).toHaveLength(40);
  expect(asked.filter((id) => id === 'm2').length).toBeLessThan(20);
});

it('skips counts that take too long', async () => {
  const { clock, counted } = counting(lines(40), async ({ signal }) => {
    await new Promise<void>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      clock.after(2_000, resolve);
    });
    return 7;
  });
  await clock.advance(5_000);
  expect((await counted).filter((tokens) => tokens === 7)).toHaveLength(32);
});

it('stops when nothing can be counted', async () => {
  let asked = 0;
  const { counted } = counting(lines(40), async () => {
    asked++;
    throw new ApiError('upstream_unreachable', 'Nobody listens.');
  });
  expect((await counted).every((tokens) => tokens === undefined)).toBe(true);
  expect(asked).toBeLessThan(20);
});

it('counts lines that have a field file_id and name no file', async () => {
  expect(await counting(lines(2), async () => 7, 'file_id').counted).toEqual([7, 7]);
});
