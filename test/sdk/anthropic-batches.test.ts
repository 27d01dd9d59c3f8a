import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchEndpoints } from '../../src/core/batch.ts';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { createMessagesClient, messagesSdks } from './anthropic-clients.ts';
import type { MessagesClient } from './anthropic-clients.ts';

type Params = MessagesClient['messages']['batches'] extends { create(params: infer P): unknown } ? P : never;
type Requests = Params['requests'];

let running: RunningApp;
let closed: RunningApp;

beforeAll(async () => {
  running = await startApp({
    batch: { endpoints: batchEndpoints },
    limits: { requestsPerBatch: 30 },
    keys: [{ org: 'other' }],
  });
  closed = await startApp();
});
afterAll(() => Promise.all([running?.stop(), closed?.stop()]));

const params = (content: string) => ({
  model: 'tiny',
  max_tokens: 50,
  messages: [{ role: 'user' as const, content }],
});
const requests = (...contents: string[]): Requests =>
  contents.map((content, n) => ({ custom_id: `row-${n}`, params: params(content) }));

describe.each(messagesSdks)('messages.batches through $name', ({ sdk }) => {
  const client = () => createMessagesClient(sdk, running);
  const ended = (id: string) =>
    until(`batch ${id} ends`, async () => {
      const batch = await client().messages.batches.retrieve(id);
      return batch.processing_status === 'ended' && batch;
    });
  const resultsOf = async (id: string) => {
    const found = new Map<string, Record<string, unknown>>();
    for await (const line of await client().messages.batches.results(id))
      found.set(line.custom_id, line.result as unknown as Record<string, unknown>);
    return found;
  };

  it('run from requests to results, with a price, and appear as regular batches', async () => {
    const created = await client().messages.batches.create({
      requests: requests('Hello.', 'No: [[fail 400]]', 'Call [[tool look {"id":12345678901234567890}]]'),
    });
    expect(created).toMatchObject({
      id: expect.stringMatching(/^batch_/),
      type: 'message_batch',
      processing_status: 'in_progress',
      request_counts: { processing: 3, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      expires_at: expect.stringMatching(/Z$/),
      ended_at: null,
      cancel_initiated_at: null,
      archived_at: null,
      results_url: null,
    });
    const batch = await ended(created.id);
    expect(batch).toMatchObject({
      request_counts: { processing: 0, succeeded: 2, errored: 1 },
      ended_at: expect.stringMatching(/Z$/),
      results_url: `/v1/messages/batches/${created.id}/results`,
    });
    const results = await resultsOf(created.id);
    expect([...results.keys()].toSorted()).toEqual(['row-0', 'row-1', 'row-2']);
    expect(results.get('row-0')).toMatchObject({
      type: 'succeeded',
      message: { type: 'message', role: 'assistant', model: 'tiny', stop_reason: 'end_turn' },
    });
    expect(results.get('row-1')).toMatchObject({
      type: 'errored',
      error: {
        type: 'error',
        error: { type: 'invalid_request_error' },
        request_id: expect.stringMatching(/^req_/),
      },
    });
    const seen = await running.api.batch(created.id);
    expect(seen).toMatchObject({
      endpoint: '/v1/messages',
      status: 'completed',
      request_counts: { completed: 2 },
    });
    expect(Number(seen.cost.amount)).toBeGreaterThan(0);
  });

  it('can be cancelled; requests that never ran are canceled', async () => {
    const { id } = await client().messages.batches.create({ requests: requests('[[hang]]', '[[hang]]') });
    const cancelled = await client().messages.batches.cancel(id);
    expect(cancelled).toMatchObject({
      id,
      processing_status: 'canceling',
      cancel_initiated_at: expect.any(String),
    });
    expect((await ended(id)).request_counts).toEqual({
      processing: 0,
      succeeded: 0,
      errored: 0,
      canceled: 2,
      expired: 0,
    });
    expect([...(await resultsOf(id)).values()]).toEqual([{ type: 'canceled' }, { type: 'canceled' }]);
    await expect(client().messages.batches.cancel(id)).resolves.toMatchObject({ processing_status: 'ended' });
  });

  it('are listed newest first, in pages, in both directions, without batches of other endpoints', async () => {
    const made: string[] = [];
    for (let n = 0; n < 5; n++)
      made.push((await client().messages.batches.create({ requests: requests('x') })).id);
    const other = await running.api.createBatch({
      requests: [
        {
          custom_id: 'a',
          method: 'POST',
          url: '/v1/chat/completions',
          body: { model: 'tiny', messages: [{ role: 'user', content: 'x' }] },
        },
      ],
    });
    const listed: string[] = [];
    for await (const batch of client().messages.batches.list({ limit: 2 })) listed.push(batch.id);
    expect(listed.slice(0, 5)).toEqual(made.toReversed());
    expect(listed).not.toContain(other.id);
    const before = await client().messages.batches.list({ limit: 2, before_id: made[0]! });
    expect([before.data.map(({ id }) => id), before.has_more]).toEqual([[made[2], made[1]], true]);
    const rest = await before.getNextPage();
    expect([rest.data.map(({ id }) => id), rest.has_more]).toEqual([[made[4], made[3]], false]);
    await expect(client().messages.batches.retrieve(other.id)).rejects.toMatchObject({ status: 404 });
  });

  it('can be deleted once ended, with requests and results, while the usage remains', async () => {
    const { id } = await client().messages.batches.create({ requests: requests('[[hang]]') });
    await expect(client().messages.batches.delete(id)).rejects.toMatchObject({
      status: 409,
      type: 'conflict_error',
    });
    await expect(client().messages.batches.results(id)).rejects.toThrow('results_url');
    await client().messages.batches.cancel(id);
    await ended(id);
    const { input_file_id: input, error_file_id: errors } = await running.api.batch(id);
    expect(await client().messages.batches.delete(id)).toEqual({ id, type: 'message_batch_deleted' });
    for (const path of [
      `/v1/batches/${id}`,
      `/v1/messages/batches/${id}`,
      `/v1/messages/batches/${id}/results`,
    ])
      expect((await running.api.send(path)).status).toBe(404);
    for (const file of [input, errors!])
      expect((await running.api.send(`/v1/files/${file}`)).status).toBe(404);
    const left = await client().messages.batches.list({ limit: 100 });
    expect(left.data.map((each) => each.id)).not.toContain(id);
  });

  it('report errors with their location in this format', async () => {
    const refused = async (given: unknown, from = running) => {
      const asking = createMessagesClient(sdk, from).messages.batches.create(given as Params);
      return asking.then(
        () => undefined,
        (error: unknown) => error as { status: number; message: string; type: string },
      );
    };
    const [good] = requests('x');
    expect(
      await refused({ requests: [good, { custom_id: 'b', params: { ...params('x'), max_tokens: 'many' } }] }),
    ).toMatchObject({
      status: 422,
      type: 'invalid_request_error',
      message: expect.stringContaining('requests[1].params.max_tokens: expected an integer'),
    });
    expect((await refused({ requests: [good, good] }))!.message).toContain('requests[1].custom_id');
    expect((await refused({ requests: [{ ...good, url: 'x' }] }))!.message).toContain(
      'requests[0].url: unknown field',
    );
    expect((await refused({ requests: [{ params: params('x') }] }))!.message).toContain(
      'requests[0].custom_id',
    );
    expect((await refused({ requests: [{ custom_id: 'a' }] }))!.message).toContain(
      'requests[0].params: required',
    );
    expect(
      (await refused({ requests: [{ ...good, params: { ...params('x'), stream: true } }] }))!.message,
    ).toContain('requests[0].params.stream');
    expect((await refused({ requests: [7] }))!.message).toContain('requests[0]');
    expect((await refused({ requests: [] }))!.message).toContain('must not be empty');
    expect((await refused({}))!.message).toContain('requests: required');
    const many = Array.from({ length: 31 }, (_, n) => ({ ...good, custom_id: `row-${n}` }));
    expect((await refused({ requests: many }))!.message).toContain(
      'expected at most 30 requests (limits.requests_per_batch), got 31',
    );
    expect(await refused({ requests: [good] }, closed)).toMatchObject({
      status: 422,
      message: expect.stringContaining('batch.endpoints'),
    });
  });

  it('are visible only to their organization', async () => {
    const { id } = await client().messages.batches.create({ requests: requests('x') });
    const stranger = createMessagesClient(sdk, { url: running.url, key: running.keys[0]! }).messages.batches;
    for (const attempt of [
      stranger.retrieve(id),
      stranger.cancel(id),
      stranger.delete(id),
      stranger.results(id),
    ])
      await expect(attempt).rejects.toMatchObject({ status: 404, type: 'not_found_error' });
    expect((await stranger.list()).data).toEqual([]);
  });
});
