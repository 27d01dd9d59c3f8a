import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/system.ts';
import type { Card, CardChoice } from '../../../src/core/card.ts';
import type { Child, ChildEvents, Spawn } from '../../../src/engines/llama/child-process.ts';
import { cardExaminer } from '../../../src/engines/llama/examine-cards.ts';
import type { LibraryWish, StartLibrary } from '../../../src/engines/llama/gpu/start-library.ts';
import { type Loaded, loadModel } from '../../../src/engines/llama/inference/loading/load.ts';
import type { CardOptions, ToChild } from '../../../src/engines/llama/protocol.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { randomModelFile } from './random-model.ts';

const model = randomModelFile({ contextLength: 512 });
afterAll(() => model.remove());

/** Calls of the library, in order. */
let calls: (Pick<LibraryWish, 'kind'> | { gpuLayers: number } | { threads: number } | 'dispose')[];
beforeEach(() => void (calls = []));

/** llama.cpp whose contexts fail to be created as often as there are faults, each of which it logs. */
function fakeLibrary(faults: string[] = []): StartLibrary {
  return async ({ kind, log }) => {
    calls.push({ kind });
    const llama = {
      cpuMathCores: 8,
      async loadModel({ gpuLayers }: { gpuLayers: number }) {
        calls.push({ gpuLayers });
        return {
          fileInsights: { hasDecoder: true },
          async createContext({ threads, contextSize }: { threads: number; contextSize: number }) {
            calls.push({ threads });
            const fault = faults.shift();
            if (fault === undefined) return { contextSize };
            log(fault);
            throw new Error('Failed to create context');
          },
          dispose: async () => void calls.push('dispose'),
        };
      },
    };
    return { llama, library: {} } as unknown as Awaited<ReturnType<StartLibrary>>;
  };
}

const megabyte = 1024 ** 2;
const cardsOf = (...cards: Card[]): CardChoice => ({
  found: { kind: 'vulkan', cards, total: 1e10, isShared: false },
  why: null,
});
const usual = { gpu: 'auto', layers: 'auto', reserve: 0, folder: '/engine' } as const;

/** With more than two cores, the library of this test would have to measure threads, which it cannot. */
function load(
  choice: CardChoice,
  card: CardOptions | undefined = usual,
  faults?: string[],
  cores = 2,
): Promise<Loaded> {
  return loadModel(
    { modelPath: model.path, sequences: 2, contextSize: 512, threads: 'auto', flashAttention: false, card },
    {
      clock: systemClock,
      calibrateFrom: 0,
      cores,
      start: fakeLibrary(faults),
      findCards: async () => choice,
    },
  );
}

describe('a model', () => {
  test('is on the card, with one thread', async () => {
    const { card, note } = await load(cardsOf({ name: 'A', free: 1000 * megabyte }), usual, [], 8);
    expect(card).toMatchObject({ kind: 'vulkan', names: ['A'], layers: 3, of: 3 });
    expect(card!.bytes).toBeGreaterThan(megabyte);
    expect(note).toBeNull();
    expect(calls).toEqual([{ kind: 'vulkan' }, { gpuLayers: 3 }, { threads: 1 }]);
  });

  test('has the configured layers on it', async () => {
    const { card, note } = await load(cardsOf({ name: 'A', free: 1000 * megabyte }), { ...usual, layers: 2 });
    expect(card).toMatchObject({ layers: 2, of: 3 });
    expect(note).toBeNull();
    expect(calls[1]).toEqual({ gpuLayers: 2 });
  });

  test('stays with the processor if nothing fits beside the reserve, and the card is not even opened', async () => {
    const choice = cardsOf({ name: 'A', free: 1000 * megabyte });
    const { card, note } = await load(choice, { ...usual, reserve: 1000 * megabyte });
    expect(card).toBeUndefined();
    expect(note).toMatch(/^The model runs on the processor, .*\(no layer fits there: A has 1\.05 GB free/);
    expect(calls.slice(0, 2)).toEqual([{ kind: null }, { gpuLayers: 0 }]);
  });

  test('stays with the processor without a card, and says why', async () => {
    expect(await load({ found: null, why: 'CUDA: no driver' })).toMatchObject({
      note: 'The model runs on the processor, not on a graphics card (CUDA: no driver).',
    });
    expect((await load({ found: null, why: null })).note).toBeNull();
    expect(calls.filter((call) => call !== 'dispose' && 'kind' in call)).toEqual([
      { kind: null },
      { kind: null },
    ]);
  });

  test('goes back to the processor if the card refuses its memory', async () => {
    const choice = cardsOf({ name: 'A', free: 1000 * megabyte });
    const { card, note } = await load(choice, usual, [
      'ggml_vulkan: Device memory allocation of size 1 failed.',
    ]);
    expect(card).toBeUndefined();
    expect(note).toContain('the card could not hold its part: ggml_vulkan: Device memory allocation');
    expect(calls).toEqual([
      { kind: 'vulkan' },
      { gpuLayers: 3 },
      { threads: 1 },
      'dispose',
      { gpuLayers: 0 },
      { threads: expect.any(Number) },
    ]);
  });

  test('fails the start if the processor refuses it, too', async () => {
    const choice = cardsOf({ name: 'A', free: 1000 * megabyte });
    await expect(load(choice, usual, ['no room', 'no memory'])).rejects.toThrow(
      /cannot be loaded: .*no memory/,
    );
  });
});

describe('the process that tries the cards', () => {
  let events: ChildEvents;
  let sent: ToChild[];
  let kills: number;
  const clock = createManualClock();
  const spawn: Spawn = (given): Child => {
    events = given;
    sent = [];
    kills = 0;
    return { pid: 1, send: (message) => void sent.push(message), kill: () => void kills++ };
  };

  test('is ended after its answer', async () => {
    const choice = cardsOf({ name: 'A', free: 1 });
    const examined = cardExaminer(spawn, clock)('vulkan', '/engine');
    expect(sent).toEqual([{ type: 'examine', kind: 'vulkan', folder: '/engine' }]);
    events.onMessage({ type: 'examined', choice });
    events.onExit('was killed by SIGKILL', '');
    expect(await examined).toEqual(choice);
    expect(kills).toBe(1);
  });

  test('may crash', async () => {
    const examined = cardExaminer(spawn, clock)('vulkan', '/engine');
    events.onExit('was killed by SIGSEGV', 'one\ndriver fault');
    expect(await examined).toEqual({
      found: null,
      why: 'the process that tried the card was killed by SIGSEGV: driver fault',
    });
  });

  test('may end with the fault of a driver that is too old', async () => {
    const examined = cardExaminer(spawn, clock)('cuda', '/engine');
    const output =
      'CUDA error: the provided PTX was compiled with an unsupported toolchain.\n  current device: 0\nabort';
    events.onExit('was killed by SIGABRT', output);
    expect((await examined).why).toBe('the NVIDIA driver is too old for this build');
  });

  test('may hang', async () => {
    const examined = cardExaminer(spawn, clock)('cuda', '/engine');
    await clock.advance(300_000);
    expect(await examined).toEqual({ found: null, why: 'its driver did not answer in 300 seconds' });
    expect(kills).toBe(1);
  });
});
