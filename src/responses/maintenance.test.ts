import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { silent } from '../base/log.ts';
import type { StoredResponse } from '../core/response.ts';
import { type MemoryStore, createMemoryStore } from '../../test/support/memory-store.ts';
import { newResponse } from '../wire/responses/answer/response-body.ts';
import type { ResponseBody } from '../wire/responses/responses.ts';
import { createResponseMaintenance, type ResponseMaintenance } from './maintenance.ts';

const clock = createManualClock();
const leaseMs = 60_000;
let memory: MemoryStore;
const started: ResponseMaintenance[] = [];

beforeEach(async () => {
  memory = createMemoryStore({ clock });
  await memory.start();
});
afterEach(async () => {
  for (const maintenance of started.splice(0)) await maintenance.stop();
  await memory.stop();
});

async function start(exclusive = false): Promise<ResponseMaintenance> {
  const maintenance = createResponseMaintenance({
    store: memory.responses,
    otherStores: [],
    clock,
    log: silent,
    exclusive,
    roomBytes: 8_000,
  });
  started.push(maintenance);
  await maintenance.start();
  return maintenance;
}

let count = 0;

async function begin(fields: Partial<StoredResponse> = {}): Promise<ResponseBody> {
  const id = `resp_${(++count).toString(16).padStart(32, '0')}`;
  const request = { model: 'm', input: 'x', background: true };
  const body = newResponse(request, { id, createdAt: 1, model: 'm', status: 'in_progress' });
  await memory.responses.insert([
    {
      id,
      orgId: 'org_a',
      keyId: null,
      status: 'in_progress',
      previousId: null,
      createdAt: clock.now(),
      expiresAt: clock.now() + 10 * leaseMs,
      aliveUntil: clock.now() + leaseMs,
      requestId: null,
      saidBytes: 2,
      input: '[]',
      output: '[]',
      body: JSON.stringify(body),
      pieces: null,
      ...fields,
    },
  ]);
  return body;
}

const rowOf = (id: string) => memory.responses.get('org_a', id, 0);

describe('a response that a process of an earlier version makes', () => {
  it('has failed once its process was silent for too long, whoever looks first', async () => {
    const maintenance = await start();
    const begun = await begin();
    await clock.advance(leaseMs - 1);
    expect((await maintenance.failIfAbandoned((await rowOf(begun.id))!)).status).toBe('in_progress');
    await clock.advance(1);
    const seen = await maintenance.failIfAbandoned((await rowOf(begun.id))!);
    expect(seen).toMatchObject({ status: 'failed', aliveUntil: null });
    expect(JSON.parse(seen.body)).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: expect.stringContaining('stopped before') },
    });
    expect(await rowOf(begun.id)).toMatchObject({ status: 'failed', body: seen.body });
  });

  it('has failed at the start of a process that is alone', async () => {
    const begun = await begin();
    await start(false);
    expect((await rowOf(begun.id))!.status).toBe('in_progress');
    await start(true);
    expect((await rowOf(begun.id))!.status).toBe('failed');
  });

  it('is refused when an org or all of them have too many, or too large ones', async () => {
    const maintenance = await start();
    const leaves = Array.from({ length: 500 }, () => maintenance.reserve('org_a', 1));
    expect(() => maintenance.reserve('org_a', 1)).toThrow(/Too many background responses/);
    leaves.push(maintenance.reserve('org_b', 3_000));
    expect(() => maintenance.reserve('org_b', 1_001)).toThrow(/Too many background responses/);
    leaves.push(maintenance.reserve('org_c', 1_000));
    expect(() => maintenance.reserve('org_d', 1)).toThrow(/Too many background responses/);
    for (const leave of leaves) leave();
    expect(() => maintenance.reserve('org_d', 1)).not.toThrow();
  });
});

describe('maintenance', () => {
  it('removes what expired, every hour', async () => {
    await start();
    const begun = await begin({ aliveUntil: null, expiresAt: clock.now() + 1 });
    await clock.advance(3_500_000);
    expect(await rowOf(begun.id)).toBeDefined();
    await clock.advance(200_000);
    expect(await rowOf(begun.id)).toBeUndefined();
  });
});
