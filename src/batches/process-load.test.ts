import { expect, it } from 'vitest';
import { createCatalog } from '../core/model.ts';
import type { ReplicaState } from '../core/replica-state.ts';
import type { WaitingCause } from '../core/waiting.ts';
import type { Capacity } from '../inference/capacity.ts';
import { currentLoad, toProcess } from './process-load.ts';

const prices = { input: 0, cachedInput: 0, output: 0 };
const model = { id: 'mine', aliases: ['my-alias'], serves: ['chat' as const], prices, createdAt: 0 };
const cause: WaitingCause = { scope: 'account', code: 'upstream_error', message: 'here', since: 5 };
const server: ReplicaState = {
  name: 'http://gpu',
  health: 'up',
  slots: 8,
  configured: null,
  discovered: null,
  gaveWay: 0,
  slowdown: null,
  inFlight: 5,
  waiting: null,
};

const process = { version: '1.2.3', host: 'machine-1', pid: 7, startedAt: 5 };

it('a process reports its models, its rates, and why it sends none of their requests, under every name', () => {
  const load = (waiting: WaitingCause | null, rates = {}) =>
    currentLoad(
      {
        catalog: createCatalog([model]),
        capacity: {
          interactiveLoad: () => ({ mine: 2 }),
          sharedModels: () => new Set(['mine']),
          replicas: () => [server],
          waiting: (id) => (id === 'mine' ? waiting : null),
        } as Partial<Capacity> as Capacity,
      },
      { process, lines: 3, rates },
      true,
    );
  expect(load(null)).toEqual({
    process,
    lines: 3,
    interactive: { mine: 2 },
    serves: ['mine', 'my-alias'],
    models: [model],
    replicas: [{ ...server, model: 'mine', isShared: true }],
  });
  const rates = { mine: { tokensPerSecond: 7, idleMs: 0 } };
  expect(load(null, rates).rates).toEqual(rates);
  expect(load(cause).waits).toEqual({ mine: cause, 'my-alias': cause });
});

const state = {
  id: 'wrk_1',
  beatAt: 100_000,
  load: { interactive: { a: 1, b: 2 } },
  chunks: 2,
  lines: 128,
  slots: [
    { model: 'a', slots: 4, until: 102_000 },
    { model: 'b', slots: 0, until: 102_000 },
  ],
};

it('a process is silent once others may take its work, and its lapsed leases of slots are gone', () => {
  expect(toProcess(state, 101_000)).toEqual({
    id: 'wrk_1',
    info: null,
    role: 'all',
    seenAt: 100_000,
    isAlive: true,
    models: [],
    inFlight: { lines: 0, requests: 3 },
    leased: { chunks: 2, lines: 128 },
    slots: [{ model: 'a', slots: 4, until: 102_000 }],
  });
  expect(toProcess(state, 102_000).slots).toEqual([]);
  expect([129_999, 130_000].map((now) => toProcess(state, now).isAlive)).toEqual([true, false]);
});
