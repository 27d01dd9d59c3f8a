import { expect, it } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { StoreTime } from '../../src/base/store-time.ts';
import { SlotLeases } from '../../src/batches/queue/slot-leases.ts';
import { leaseSlots, type SlotLease } from '../../src/core/slot-leases.ts';
import type { EngineCall } from '../../src/engines/engines.ts';
import { createCapacity } from '../../src/inference/capacity.ts';
import { ServedModels } from '../../src/inference/served-models.ts';
import type { ChatResponse } from '../../src/wire/chat/chat.ts';
import { chatRequest, chatResponse, createFakeEngine } from '../support/fake-engine.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { createTestPool } from '../support/test-pool.ts';

// An api process has the interactive requests, and a worker the lines: they learn of one another by the slot leases alone.

const prices = { input: 1, cachedInput: 1, output: 1 };
const never = new AbortController().signal;

it('lines of a worker give way soon after an api process gets an interactive request', async () => {
  const clock = createManualClock();
  const open: { answer: () => void }[] = [];
  const engine = {
    ...createFakeEngine(),
    slots: 10,
    generate: (_: unknown, { signal }: EngineCall) =>
      new Promise<ChatResponse>((resolve, reject) => {
        const entry = { answer: () => resolve(chatResponse('fine')) };
        open.push(entry);
        signal.addEventListener('abort', () => {
          open.splice(open.indexOf(entry), 1);
          reject(signal.reason as Error);
        });
      }),
  };
  let leases: SlotLease[] = [];

  function startProcess(worker: string) {
    const pool = createTestPool(engine, { clock, isShared: true, maxSlowdown: 1.3 });
    const model = { id: 'm', aliases: [], serves: ['chat' as const], prices, createdAt: 0 };
    const models = new ServedModels([{ model, pool }], clock);
    const capacity = createCapacity(models);
    const lines: Promise<unknown>[] = [];
    const { admission } = models.require('m');
    const slots: SlotLeases = new SlotLeases({
      worker,
      clock,
      time: new StoreTime(clock),
      log: silent,
      store: {
        workers: {
          async leaseSlots(_, requests, now) {
            const { share, leases: next } = leaseSlots(leases, worker, requests['m']!, now);
            leases = next;
            return { m: share };
          },
        },
      },
      catalog: models.catalog,
      capacity,
      limit: (id) => capacity.limit(id),
      chunks: { unsent: () => (worker === 'worker' ? 5 : 0), inFlight: () => lines.length },
      onRoom: () => {},
    });
    capacity.onRoom(() => slots.requestIfDue());
    return { pool, admission, slots, lines };
  }

  const [api, worker] = [startProcess('api'), startProcess('worker')];
  for (let n = 0; n < 10; n++) {
    const leave = worker.admission.enter('batch');
    const line = worker.pool.generate(chatRequest(), { signal: never, priority: 'batch' });
    worker.lines.push(line.finally(leave));
  }
  worker.slots.requestIfDue();
  await clock.advance(60_000);
  expect(open).toHaveLength(10);

  const leave = api.admission.enter('interactive');
  await clock.advance(300);
  expect(open).toHaveLength(4);
  leave();
  await clock.advance(15_000);
  expect(open).toHaveLength(10);
  for (const { answer } of open) answer();
  await Promise.all(worker.lines);
  worker.slots.stop();
  api.slots.stop();
});
