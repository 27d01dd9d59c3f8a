import { expect, it } from 'vitest';
import { createCatalog } from '../../core/model.ts';
import type { ReplicaState } from '../../core/replica-state.ts';
import type { WaitingCause } from '../../core/waiting.ts';
import type { Capacity } from '../../inference/capacity.ts';
import { currentLoad } from './heartbeat.ts';

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
      { process, runsBatches: true, lines: 3, rates },
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
