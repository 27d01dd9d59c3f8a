import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DurableRequest, DurableRequests } from '../../src/batches/requests/durable-requests.ts';
import { ApiError } from '../../src/core/errors.ts';
import { placeInGroup } from '../../src/core/request-group.ts';
import { type Database, openDatabase } from './database.ts';
import { owner, startSingle } from './single-process.ts';

// Single requests that run through the batch engine: stored in groups, answered once, billed once.

let database: Database;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => database.close());

type Single = Awaited<ReturnType<typeof startSingle>>;

function request(content: string, more: Partial<DurableRequest> = {}): DurableRequest {
  const value = { model: 'm1', messages: [{ role: 'user', content }] };
  const text = JSON.stringify(value);
  return {
    endpoint: '/v1/chat/completions',
    body: { value, text },
    tier: 'flex',
    timeoutMs: 900_000,
    creation: {
      token: `h:chat:key_1:${content}`,
      bodyHash: content,
      startedAt: 1,
      retry: 0,
      ttlMs: 3_600_000,
    },
    ...more,
  };
}

const never = new AbortController().signal;
const second = { startedAt: 2, retry: 1 };

/** Submits a request and waits for its answer; resolves to the content or the code of the error. */
async function ask(single: Single, asked: DurableRequest, process = 0, signal = never): Promise<string> {
  const { requests } = single.all[process]!;
  try {
    const body = await requests.answer(await requests.submit(owner, asked), signal);
    const { choices } = JSON.parse(body) as { choices: { message: { content: string } }[] };
    return choices[0]!.message.content;
  } catch (error) {
    return error instanceof ApiError ? error.code : String(error);
  }
}

const groups = () =>
  database.db.all<{ id: string; total: number; ok: number; err: number; status: string; purged: number }>(
    'SELECT id, total, ok, err, status, purged FROM batches ORDER BY id',
  );
const ledger = () =>
  database.db.all<{ source_id: string; requests: number; amount: number }>(
    'SELECT source_id, requests, amount FROM usage_ledger ORDER BY source_id',
  );

async function started(options: Parameters<typeof startSingle>[1] = {}): Promise<Single> {
  const single = await startSingle(database, options);
  await Promise.all(single.all.map((batches) => single.settle(batches.start())));
  return single;
}

describe('a single request in the batch engine', () => {
  it('is answered as soon as its result is recorded, and stored together with those that arrive meanwhile', async () => {
    const single = await started({ slots: 64 });
    const asked = Array.from({ length: 40 }, (_, n) => ask(single, request(`say ${n}`)));
    const begun = single.time.elapsed;
    const answers = await single.settle(Promise.all(asked));
    expect(single.time.elapsed - begun).toBeLessThan(500);
    expect(new Set(answers).size).toBe(40);
    expect(single.sent()).toBe(40);
    const made = await groups();
    expect(made.map(({ total }) => total)).toEqual([1, 39]);
    await single.pass(10_000);
    expect((await groups()).map(({ status, ok, purged }) => [status, ok, purged])).toEqual([
      ['completed', 1, 1],
      ['completed', 39, 1],
    ]);
    expect(await database.db.all('SELECT * FROM request_bodies')).toEqual([]);
    const [{ source_id: source, requests } = { source_id: '', requests: 0 }, ...others] = await ledger();
    expect([source, requests, others]).toEqual(['flex:key_1:/v1/chat/completions:', 40, []]);
  });

  it('costs the price of a batch with the tier flex, and the whole price without', async () => {
    const single = await started();
    await single.settle(ask(single, request('hello')));
    const [flex] = await ledger();
    await single.settle(ask(single, request('hello', { tier: 'default', metadata: { tag: 'x' } })));
    const whole = (await ledger()).find(({ source_id: source }) => source.endsWith(':x'));
    expect(whole!.amount / flex!.amount).toBeCloseTo(2, 3);
  });

  it('is joined by its repeats, before and after it has ended, at any process', async () => {
    const single = await started({ processes: 2 });
    const asked = request('[[delay 5000]] hello');
    const gone = new AbortController();
    const first = ask(single, asked, 0, gone.signal);
    await single.pass(2_000);
    gone.abort(new Error('the client left'));
    expect(await single.settle(first)).toBe('Error: the client left');
    const again = { ...asked, creation: { ...asked.creation, ...second } };
    const joined = ask(single, again, 1);
    const answer = await single.settle(joined);
    expect(await single.settle(ask(single, again, 0))).toBe(answer);
    expect(single.sent()).toBe(1);
    const { id, replayed } = await single.settle(single.batches.requests.submit(owner, again));
    expect([replayed, placeInGroup(id).batchId]).toEqual([true, (await groups())[0]!.id]);
    // The same request that is no repeat is a new one.
    await single.settle(ask(single, { ...asked, creation: { ...asked.creation, startedAt: 3 } }));
    expect(single.sent()).toBe(2);
  });

  it('has no other body under its Idempotency-Key', async () => {
    const single = await started();
    const keyed = (content: string) =>
      request(content, {
        creation: { token: 'k:chat:abc', bodyHash: content, startedAt: 1, retry: 0, ttlMs: 86_400_000 },
      });
    const both = [
      ask(single, request('other')),
      ask(single, keyed('one')),
      ask(single, keyed('two')),
      ask(single, keyed('one')),
    ];
    const [, one, two, repeated] = await single.settle(Promise.all(both));
    expect([two, repeated]).toEqual(['idempotency_mismatch', one]);
    expect(single.sent()).toBe(2);
  });

  it('runs at another process when its own dies, and is billed once', async () => {
    const single = await started({ processes: 2, slots: 4 });
    const asked = Array.from({ length: 8 }, (_, n) => request(`[[delay 20000]] say ${n}`));
    for (const each of asked) void ask(single, each, 1);
    await single.pass(5_000);
    single.kill(1);
    const again = asked.map((each) => ask(single, { ...each, creation: { ...each.creation, ...second } }, 0));
    const answers = await single.settle(Promise.all(again));
    expect(new Set(answers).size).toBe(8);
    expect((await ledger()).map(({ requests }) => requests)).toEqual([8]);
  });

  it('ends at its deadline without a charge, and says when to try again', async () => {
    const single = await started({ slots: 1 });
    const slow = ask(single, request('[[delay 600000]] slow'));
    await single.pass(1_000);
    const hurried = single.batches.requests;
    const submitted = await single.settle(hurried.submit(owner, request('late', { timeoutMs: 30_000 })));
    const begun = single.time.elapsed;
    const error = await single.settle(hurried.answer(submitted, never).catch((thrown: unknown) => thrown));
    expect(error).toMatchObject({ code: 'resource_unavailable', status: 429, retryAfter: 60 });
    expect(single.time.elapsed - begun).toBeLessThan(36_000);
    expect(await ledger()).toEqual([]);
    await single.settle(slow, 700_000);
    expect((await ledger())[0]).toMatchObject({ requests: 1 });
  });

  it.each(['flex', 'default'] as const)('waits for its server at the tier %s', async (tier) => {
    const single = await started();
    single.outage.error = new ApiError('upstream_unreachable', 'The server is away.');
    const asked = ask(single, request('hello', { tier }));
    await single.pass(60_000);
    expect(single.sent()).toBe(0);
    single.outage.error = null;
    expect(await single.settle(asked, 120_000)).not.toBe('upstream_unreachable');
    expect(single.sent()).toBe(1);
  });

  it('runs at once at the tier default, beside a batch that fills the server, and after the death of its process as others do', async () => {
    const single = await started({ slots: 2, processes: 2 });
    await single.create('b0', 40, { delayMs: 20_000 });
    await single.pass(10_000);
    const begun = single.time.elapsed;
    await single.settle(ask(single, request('[[delay 100]] now', { tier: 'default' })));
    expect(single.time.elapsed - begun).toBeLessThan(25_000);
    const asked = request('[[delay 30000]] later', { tier: 'default' });
    void ask(single, asked, 1);
    await single.pass(2_000);
    single.kill(1);
    const again = { ...asked, creation: { ...asked.creation, ...second } };
    expect(await single.settle(ask(single, again, 0), 600_000)).toContain('later');
  });

  it('ends by a cancellation, in flight or before, and frees its slot', async () => {
    const single = await started({ slots: 1 });
    const { requests } = single.batches;
    const submit = (content: string) => single.settle(requests.submit(owner, request(content)));
    const submitted = [await submit('[[delay 600000]] a')];
    await single.pass(1_000);
    for (const content of ['[[delay 1000]] b', '[[delay 1000]] c']) submitted.push(await submit(content));
    const answers = submitted.map((each) =>
      requests.answer(each, never).then(
        () => 'answered',
        (error: ApiError) => error.code,
      ),
    );
    await single.pass(2_000);
    expect(single.running()).toBe(1);
    for (const { id } of submitted.slice(0, 2))
      expect(await single.settle(requests.cancel(owner.orgId, id, {}))).toBe(true);
    expect(await single.settle(Promise.all(answers))).toEqual([
      'batch_cancelled',
      'batch_cancelled',
      'answered',
    ]);
    expect((await ledger()).map((row) => row.requests)).toEqual([1]);
  });

  it.each(['flex', 'default'] as const)(
    'frees its slot within a second of a cancellation at another process, at the tier %s',
    async (tier) => {
      const single = await started({ slots: 1, processes: 2 });
      const [here, there] = single.all.map(({ requests }) => requests) as [DurableRequests, DurableRequests];
      const submit = (content: string) => single.settle(here.submit(owner, request(content, { tier })));
      const submitted = [await submit('[[delay 600000]] a')];
      await single.pass(1_000);
      submitted.push(await submit('[[delay 600000]] b'));
      await single.pass(1_000);
      expect([single.running(), single.waiting()]).toEqual([1, 1]);
      for (const { id } of submitted)
        expect(await single.settle(there.cancel(owner.orgId, id, {}))).toBe(true);
      await single.pass(1_000);
      expect([single.running(), single.waiting()]).toEqual([0, 0]);
      await single.settle(here.answer(await submit('c'), never));
      expect((await ledger()).map((row) => row.requests)).toEqual([1]);
    },
  );

  it.each(['flex', 'default'] as const)(
    'ends soon if its server always fails it, at the tier %s',
    async (tier) => {
      const single = await started();
      expect(await single.settle(ask(single, request('[[fail 500]]', { tier })), 60_000)).toBe(
        'upstream_error',
      );
      expect(single.sent()).toBe(3);
    },
  );

  it('reports the error of its engine', async () => {
    const single = await started();
    expect(await single.settle(ask(single, request('[[fail 400]]')))).toBe('request_refused');
    expect(await single.settle(ask(single, request('x', { body: other('nobody') })))).toBe('model_not_found');
  });

  it('is refused above the limits of the queue, alone', async () => {
    const single = await started({ slots: 1 });
    const caller = { ...owner, limits: { org: { queuedRequests: 5 }, key: {} } };
    const submitted = Array.from({ length: 8 }, (_, n) =>
      single.batches.requests.submit(caller, request(`[[delay 60000]] ${n}`)).then(
        () => 'stored',
        (error: ApiError) => error.code,
      ),
    );
    const outcomes = await single.settle(Promise.all(submitted));
    expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(5);
    expect(outcomes.filter((outcome) => outcome === 'queued_requests_exceeded')).toHaveLength(3);
  });

  it('is no batch: it is not listed, shown, cancelled, paused or announced, and counts as no open batch', async () => {
    const single = await started({ slots: 1 });
    const { id: request1 } = await single.settle(
      single.batches.requests.submit(owner, request('[[delay 60000]] hidden')),
    );
    await single.create('b0', 2);
    const { batchId } = placeInGroup(request1);
    const { batches } = single;
    const ids = async (listed: ReturnType<typeof batches.list>) =>
      (await single.settle(listed)).batches.map(({ batch }) => batch.id.slice(0, 6));
    expect(await ids(batches.list(owner, { limit: 10 }))).toEqual(['batch_']);
    expect(await ids(batches.list(owner, { limit: 10, order: 'asc' }))).toEqual(['batch_']);
    expect(await ids(batches.listAll({ limit: 10 }, never))).toEqual(['batch_']);
    const exact = { limit: 10, model: 'm1', status: 'in_progress' } as const;
    expect(await ids(batches.listAll(exact, never))).toEqual(['batch_']);
    expect(await ids(batches.listAll({ limit: 10, words: ['group'] }, never))).toEqual([]);
    const refused = [
      batches.get(owner, batchId),
      batches.cancel(owner, batchId),
      batches.pause(owner, batchId),
      batches.setPriority(owner, batchId, 9),
      batches.remove(owner, batchId),
      batches.history(owner, batchId),
      batches.asOwner(batchId),
      batches.follow(owner, batchId, never),
      batches.results(owner, batchId, 'output', 0),
    ].map((each: Promise<unknown>) => each.catch(({ code }: ApiError) => code));
    expect(new Set(await single.settle(Promise.all(refused)))).toEqual(new Set(['not_found']));
    expect((await single.settle(batches.openWork())).open).toHaveLength(1);
    await single.pass(200_000);
    expect((await groups()).map(({ status }) => status)).toEqual(['completed', 'completed']);
    const events = await database.db.all('SELECT * FROM webhook_events').catch(() => []);
    expect(events).toEqual([]);
  });
});

function other(model: string): DurableRequest['body'] {
  const value = { model, messages: [{ role: 'user', content: 'x' }] };
  return { value, text: JSON.stringify(value) };
}
