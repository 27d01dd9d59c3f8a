import { mkdirSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { silent } from '../../../src/base/log.ts';
import { sum } from '../../../src/base/sum.ts';
import { systemClock } from '../../../src/base/system.ts';
import type { CardChoice } from '../../../src/core/card.ts';
import { spawnChild } from '../../../src/engines/llama/child-process.ts';
import { cardExaminer } from '../../../src/engines/llama/examine-cards.ts';
import type { LlamaEngine } from '../../../src/engines/llama/engine.ts';
import { readModel } from '../../../src/engines/llama/files/read-model.ts';
import { readShape } from '../../../src/engines/llama/gguf/shape.ts';
import { findCards } from '../../../src/engines/llama/gpu/find-cards.ts';
import { installBuild } from '../../../src/engines/llama/gpu/install-build.ts';
import { npmInstaller } from '../../../src/engines/llama/gpu/npm.ts';
import { startLibrary } from '../../../src/engines/llama/gpu/start-library.ts';
import { cardMemory } from '../../../src/engines/llama/inference/loading/card-note.ts';
import { loadModel } from '../../../src/engines/llama/inference/loading/load.ts';
import { planContext } from '../../../src/engines/llama/inference/loading/memory.ts';
import { testEngine, user } from '../llama/engine-fixture.ts';
import { randomModelFile } from '../llama/random-model.ts';

// The real Vulkan build, on whatever driver there is. Mesa's driver for processors (mesa-vulkan-drivers) suffices: llama.cpp
// takes it if it is named.

const folder = fileURLToPath(new URL('../../../node_modules/.cache/offpeak-engines/builds', import.meta.url));
const examine = cardExaminer(spawnChild, systemClock);
const find = (gpu: 'vulkan' | 'cuda') => findCards(gpu, folder, { platform: process, examine });

async function prepare(): Promise<CardChoice> {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return { found: null, why: 'only on linux-x64' };
  mkdirSync(folder, { recursive: true });
  const request = {
    kind: 'vulkan',
    files: [],
    signal: new AbortController().signal,
    onFetch: () => {},
  } as const;
  try {
    await installBuild(request, { folder, platform: process, install: npmInstaller(env) });
  } catch (error) {
    return { found: null, why: String(error) };
  }
  env.GGML_VK_VISIBLE_DEVICES ??= '0';
  return find('vulkan');
}

const choice = await prepare();
if (!choice.found) console.warn(`SKIPPED: not tested with Vulkan: ${choice.why}`);

describe.skipIf(!choice.found)('the Vulkan build', () => {
  const layers = 4;
  const model = randomModelFile({ contextLength: 2048, width: 128, layers });
  afterAll(() => model.remove());
  const card = { gpu: 'vulkan', layers: 'auto', reserve: 0, folder } as const;
  const greedy = { messages: user('Which letters?'), temperature: 0, max_tokens: 24 };

  it.each([0, 1, 3, layers + 1])(
    'answers with %d layers on the card as the processor does',
    async (count) => {
      const alone = testEngine({ modelPath: model.path, contextSize: 512 });
      const { engine, ask } = testEngine({
        modelPath: model.path,
        contextSize: 512,
        card: { ...card, layers: count },
      });
      try {
        await Promise.all([alone.engine.start(), engine.start()]);
        const [expected, found] = [await alone.ask(greedy), await ask(greedy)];
        // Rounding differs, so the texts may part after some tokens.
        const text = expected.choices[0]!.message.content!;
        expect(found.choices[0]!.message.content!.slice(0, 4)).toBe(text.slice(0, 4));
        const [own, on] = [await embed(alone.engine), await embed(engine)];
        expect(on).toHaveLength(own.length);
        for (const [at, number] of own.entries()) expect(on[at]).toBeCloseTo(number, 1);
      } finally {
        await Promise.all([alone.engine.stop(), engine.stop()]);
      }
    },
  );

  it('obeys a schema on the card', async () => {
    const { engine, ask } = testEngine({ modelPath: model.path, contextSize: 512, card });
    await engine.start();
    const schema = {
      type: 'object',
      properties: { n: { type: 'integer' } },
      required: ['n'],
      additionalProperties: false,
    };
    const { choices } = await ask({
      messages: user('n?'),
      max_tokens: 40,
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } },
    });
    expect(JSON.parse(choices[0]!.message.content!)).toEqual({ n: expect.any(Number) });
    await engine.stop();
  });

  it('reports what it uses in the log', async () => {
    const info = vi.fn();
    const { engine } = testEngine({
      modelPath: model.path,
      contextSize: 512,
      card,
      log: { ...silent, info },
    });
    await engine.start();
    const use = { kind: 'vulkan', layers: layers + 1, of: layers + 1 };
    expect(info).toHaveBeenCalledWith(
      expect.objectContaining({ card: expect.objectContaining(use) }),
      'The embedded engine is ready.',
    );
    await engine.stop();
  });
});

async function embed(engine: LlamaEngine): Promise<number[]> {
  const call = { signal: new AbortController().signal, priority: 'interactive', prefix: '' } as const;
  const request = { value: { model: 'random', input: 'text' }, text: '' };
  return [...(await engine.direct('embeddings', request, call)).vectors[0]!];
}

describe.skipIf(!choice.found)('the plan for the card', () => {
  const model = randomModelFile({ contextLength: 2048, width: 256, layers: 3 });
  let started: Awaited<ReturnType<typeof startLibrary>>;
  beforeAll(async () => {
    started = await startLibrary({ kind: 'vulkan', folder, level: 'error', log: () => {} });
  });
  afterAll(async () => {
    await started?.llama.dispose();
    model.remove();
  });

  it.each([1, 2, 4])(
    'needs at least what llama.cpp takes with %d layers, and little more',
    async (layers) => {
      const options = {
        modelPath: model.path,
        sequences: 4,
        contextSize: 1024,
        threads: 1,
        flashAttention: false,
      };
      const wish = { gpu: 'vulkan', layers, reserve: 0, folder } as const;
      const loaded = await loadModel(
        { ...options, card: wish },
        { clock: systemClock, findCards: async () => choice, start: async () => started },
      );
      const { headers, bytes } = await readModel(model.path, { stat });
      const plan = planContext(readShape(headers, bytes), options, Infinity, cardMemory(choice, wish));
      expect(plan.placement.layers).toBe(layers);
      const used = bytesOnCard(loaded.model, '_model') + bytesOnCard(loaded.context, '_ctx');
      // Before the comparison, because the library waits for them at its end.
      await loaded.context.dispose();
      await loaded.model.dispose();
      const planned = sum(plan.placement.cards);
      expect(planned).toBeGreaterThanOrEqual(used);
      expect(planned).toBeLessThan(used * 1.6 + 8 * 1024 ** 2);
      await loaded.context.dispose();
      await loaded.model.dispose();
    },
  );
});

/** Bytes that a part of llama.cpp allocated on the card, which only the native objects know. */
function bytesOnCard(owner: object, member: string): number {
  const native = (owner as Record<string, { getMemoryBreakdown(): { gpuVram: number } }>)[member]!;
  return native.getMemoryBreakdown().gpuVram;
}

it.skipIf(!choice.found || choice.found.cards.some(({ name }) => !name.includes('llvmpipe')))(
  'two cards divide the layers',
  async () => {
    vi.stubEnv('GGML_VK_VISIBLE_DEVICES', '0,0');
    const two = await find('vulkan');
    expect(two.found!.cards).toHaveLength(2);
    const model = randomModelFile({ contextLength: 512, layers: 4 });
    const card = { gpu: 'vulkan', layers: 'auto', reserve: 0, folder } as const;
    const { engine, ask } = testEngine({ modelPath: model.path, card });
    await engine.start();
    expect((await ask('Hello')).choices).toHaveLength(1);
    await engine.stop();
    model.remove();
    vi.unstubAllEnvs();
  },
);

it.skipIf(!choice.found)('without a driver, one sentence says so', async () => {
  vi.stubEnv('VK_ICD_FILENAMES', join(folder, 'none.json'));
  vi.stubEnv('VK_DRIVER_FILES', join(folder, 'none.json'));
  expect(await find('vulkan')).toEqual({
    found: null,
    why: 'Vulkan: no driver with Vulkan 1.2 or newer is installed',
  });
  vi.unstubAllEnvs();
});
