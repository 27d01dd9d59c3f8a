import { describe, expect, test } from 'vitest';
import type { Batch } from '../../../src/core/batch.ts';
import { lineRequestId } from '../../../src/core/request-group.ts';
import type { StoredResponse } from '../../../src/core/response.ts';
import type { StoredChat } from '../../../src/core/stored-chat.ts';
import type { GroupedRequest, RequestStore } from '../../../src/store/contract/requests.ts';
import type { Stores } from '../conformance.ts';
import {
  claimClosing,
  claimOf,
  failure,
  lease,
  makeBatch,
  makeChunks,
  makeCreation,
  makeOrg,
  makeWebhook,
  nextId,
  output,
  start,
  storedBytes,
} from '../fixtures.ts';

type Options = Parameters<RequestStore['create']>[3];

export function requestTests(on: Stores): void {
  const makeGroup = (total: number, fields: Partial<Batch> = {}) =>
    makeBatch({ id: nextId('group_'), tier: 'flex', inputFileId: '', total, ...fields });
  const asked = (names: string[], more: Partial<GroupedRequest['creation']> = {}): GroupedRequest[] =>
    names.map((name, line) => ({
      line,
      body: Buffer.from(`"${name}"`),
      creation: makeCreation({ token: `h:chat:${name}`, bodyHash: name, ...more }),
    }));
  const create = (group: Batch, requests: GroupedRequest[], more: Partial<Options> = {}) =>
    on.store.requests.create(group, makeChunks(group), requests, {
      limits: { org: {}, key: {} },
      now: start,
      billedAt: start,
      ...more,
    });
  const added = async (names: string[], fields: Partial<Batch> = {}) => {
    const group = makeGroup(names.length, fields);
    expect(await create(group, asked(names))).toEqual({ outcome: 'created', leased: [] });
    return group;
  };
  /** Runs a group to its end. */
  const ended = async (names: string[]) => {
    const group = await added(names);
    const chunks = await claimOf(on.store, 'w', group.id, { count: 9 });
    const results = names.map((_, line) => output(group, line));
    await on.store.results.record('w', results, chunks.map(lease), start);
    return group;
  };
  /** Lets a group end without answers. */
  const expired = async (names: string[]) => {
    const group = await added(names, { expiresAt: start + 1 });
    await on.store.batches.expire(start + 1, 10);
    const closing = await claimClosing(on.store, 'w', group.id);
    const results = names.map((_, line) => failure(group, line));
    expect(await on.store.results.recordMissing('w', closing, results, start)).toBe(true);
    const none = { output: null, errors: null };
    expect(await on.store.batches.publish('w', closing, none, start)).toBe('published');
    return group;
  };

  const unfinished: Omit<StoredResponse, 'id'> = {
    orgId: 'org_a',
    keyId: 'key_a',
    status: 'in_progress',
    previousId: null,
    createdAt: start,
    expiresAt: start + 86_400_000,
    aliveUntil: start + 86_400_000,
    requestId: null,
    saidBytes: 0,
    input: '[]',
    output: '[]',
    body: '{}',
    pieces: null,
  };

  describe('single requests', () => {
    test('are stored in a group, and read in any order', async () => {
      const group = await added(['a', 'b']);
      const bodies = await on.store.requests.bodies(group.id, [1, 7, 0]);
      expect(bodies.map((body) => body && Buffer.from(body).toString())).toEqual(['"b"', undefined, '"a"']);
      expect(await on.store.batches.find(group.id)).toEqual(group);
    });

    test('are named with the request that each repeats, and none of the group is stored', async () => {
      const first = await added(['a', 'b']);
      const again = makeGroup(3);
      const outcome = await create(again, asked(['x', 'b', 'a'], { startedAt: start + 1, retry: 1 }));
      const of = (line: number) => lineRequestId({ batchId: first.id, line });
      expect(outcome).toEqual({
        outcome: 'repeats',
        repeats: [
          { line: 1, id: of(1) },
          { line: 2, id: of(0) },
        ],
      });
      expect(await on.store.batches.find(again.id)).toBeUndefined();
      // 'x' was not remembered.
      expect(await create(makeGroup(1), asked(['x'], { retry: 1 }))).toEqual({
        outcome: 'created',
        leased: [],
      });
    });

    test('are new without a sign of a retry, also twice in a group', async () => {
      await added(['a']);
      expect(await create(makeGroup(2), asked(['a', 'a'], { startedAt: start + 1 }))).toEqual({
        outcome: 'created',
        leased: [],
      });
    });

    test('have no other body under their key', async () => {
      const keyed = (body: string) => [
        { ...asked([body])[0]!, creation: makeCreation({ token: 'k:chat:1', bodyHash: body }) },
      ];
      expect(await create(makeGroup(1), keyed('a'))).toEqual({ outcome: 'created', leased: [] });
      expect(await create(makeGroup(1), keyed('b'))).toEqual({
        outcome: 'repeats',
        repeats: [{ line: 0, id: null }],
      });
    });

    test('count as queued requests and tokens, and not as open batches', async () => {
      const org = makeOrg();
      await on.store.orgs.insert(org);
      const orgId = org.id;
      const limits = { org: { openBatches: 1, queuedRequests: 3 }, key: {} };
      const group = makeGroup(2, { orgId });
      expect(await create(group, asked(['a', 'b']), { limits })).toEqual({ outcome: 'created', leased: [] });
      expect(await on.store.batches.queued(orgId, 'key_a')).toMatchObject({
        org: { batches: 0, requests: 2, tokens: { m1: 200 } },
      });
      expect(await create(makeGroup(2, { orgId }), asked(['c', 'd']), { limits })).toMatchObject({
        outcome: 'limit_exceeded',
        exceeded: [{ name: 'queued_requests', used: 2, adds: 2, limit: 3 }],
      });
      expect(await create(makeGroup(1, { orgId }), asked(['c']), { limits })).toEqual({
        outcome: 'created',
        leased: [],
      });
    });

    test('have results by their places, each with its body', async () => {
      const [group, later] = [await added(['a', 'b']), await added(['c'])];
      const places = [
        { batchId: group.id, line: 0 },
        { batchId: group.id, line: 1 },
        { batchId: later.id, line: 0 },
      ];
      expect(await on.store.requests.results(places)).toEqual([]);
      expect(await on.store.requests.ended(places)).toEqual([]);
      await claimOf(on.store, 'w', group.id);
      await on.store.results.record('w', [output(group, 1)], [], start);
      expect(await on.store.requests.ended(places)).toEqual([{ batchId: group.id, line: 1 }]);
      const [found, ...others] = await on.store.requests.results(places);
      expect([found?.line, found?.stream, Buffer.from(found!.body).toString(), others]).toEqual([
        1,
        'output',
        '{"line":1}',
        [],
      ]);
      await on.store.results.record('w', [failure(group, 0)], [], start);
      expect((await on.store.requests.results(places)).map(({ stream }) => stream).toSorted()).toEqual([
        'errors',
        'output',
      ]);
    });

    test('have the rows of their answers stored with their results, once', async () => {
      const group = await added(['a', 'b']);
      await claimOf(on.store, 'w', group.id, { count: 9 });
      const common = { orgId: 'org_a', keyId: 'key_a', createdAt: start, expiresAt: start + 1_000 };
      const chat = {
        id: nextId('chatcmpl_'),
        ...common,
        model: 'm1',
        metadata: '{}',
        messages: '[]',
        body: '{}',
      };
      const response = {
        id: nextId('resp_'),
        ...common,
        status: 'completed' as const,
        previousId: null,
        aliveUntil: null,
        requestId: null,
        saidBytes: 4,
        input: '[]',
        output: '[]',
        body: '{}',
        pieces: null,
      };
      const conversation = { id: nextId('conv_'), ...common, bytes: 0, metadata: '{}' };
      await on.store.conversations.insert(conversation, []);
      const items = [{ id: 'msg_1', item: '{}' }];
      const turn = { ...common, conversationId: conversation.id, items, now: start };
      const results = [
        { ...output(group, 0), rows: { chat } },
        { ...output(group, 1), rows: { response, turn } },
      ];
      const before = await storedBytes(on.store, 'org_a');
      await on.store.results.record('w', results, [], start);
      await on.other.results.record('w', results, [], start);
      expect(await on.other.chats.get('org_a', chat.id, start)).toMatchObject({ id: chat.id });
      expect(await on.other.responses.get('org_a', response.id, start)).toMatchObject({ id: response.id });
      expect(await on.store.conversations.texts(conversation.id)).toEqual(['{}']);
      expect((await storedBytes(on.store, 'org_a')) - before).toBe('{}[]{}'.length + '[][]{}'.length + 2);
    });

    test('are billed to their key, in one row for all groups', async () => {
      const [one, two] = [await ended(['a', 'b']), await ended(['c'])];
      expect(await on.store.ledger.forSources([one.id, two.id])).toEqual([]);
      const rows = await on.store.ledger.forSources(['flex:key_a:/v1/chat/completions:']);
      expect(rows.map(({ requests }) => requests)).toEqual([3]);
    });

    test('raise no event and have no result files when they end', async () => {
      const files = { outputFileId: null, errorFileId: null };
      const [one, two] = [await ended(['a']), await expired(['b'])];
      expect(await on.store.batches.find(one.id)).toMatchObject({ status: 'completed', ...files });
      expect(await on.store.batches.find(two.id)).toMatchObject({ status: 'expired', ...files });
      expect(await on.store.webhooks.waiting(10)).toMatchObject({ count: 0 });
    });

    test('lose their bodies once they have ended, and their results when they are forgotten', async () => {
      const [old, running, recent] = [await ended(['a', 'b']), await added(['c']), await expired(['d'])];
      expect(await on.store.results.leftovers(10)).toEqual([recent.id]);
      while (!(await on.store.results.purge(recent.id, 1)));
      expect(await on.store.requests.bodies(recent.id, [0])).toEqual([undefined]);
      expect(await on.store.requests.bodies(old.id, [0, 1])).toEqual([undefined, undefined]);
      expect(await on.store.requests.results([{ batchId: old.id, line: 0 }])).toHaveLength(1);
      expect(await on.store.requests.forget(recent.id, 10)).toBe(1);
      expect(await on.store.requests.results([{ batchId: old.id, line: 0 }])).toEqual([]);
      const left = await Promise.all([old, running, recent].map(({ id }) => on.store.batches.find(id)));
      expect(left.map((batch) => batch?.id)).toEqual([undefined, running.id, recent.id]);
    });

    test('begin at once at a process that leases them', async () => {
      const group = makeGroup(2);
      const outcome = await create(group, asked(['a', 'b']), { worker: 'w' });
      const [chunk, ...others] = outcome.outcome === 'created' ? outcome.leased : [];
      expect([chunk?.batchId, chunk?.epoch, others]).toEqual([group.id, 1, []]);
      expect(await on.store.batches.find(group.id)).toMatchObject({ status: 'in_progress' });
      expect(await claimOf(on.store, 'x', group.id)).toEqual([]);
      const results = [0, 1].map((line) => output(group, line));
      const [recorded] = await on.store.results.record('w', results, [lease(chunk!)], start);
      expect(recorded).toMatchObject({ kept: 2, complete: true });
    });

    test('end once, by their result or by their org', async () => {
      const group = await added(['a', 'b']);
      const cancelled = failure(group, 0, { code: 'batch_cancelled' });
      expect(await on.store.requests.end('org_b', cancelled, start)).toBe(false);
      expect(await on.store.requests.end('org_a', cancelled, start)).toBe(true);
      expect(await on.store.requests.end('org_a', cancelled, start)).toBe(false);
      // The line that has ended is not claimed.
      const [chunk] = await claimOf(on.store, 'w', group.id);
      expect(chunk!.lines.map(({ line }) => line)).toEqual([1]);
      const late = [output(group, 0), output(group, 1)];
      const [recorded] = await on.store.results.record('w', late, [lease(chunk!)], start);
      expect(recorded).toMatchObject({ kept: 1, complete: true });
      expect(await on.store.batches.find(group.id)).toMatchObject({ ok: 1, err: 1, closing: 'completed' });
    });

    test('store answers with their results, once, and announce responses', async () => {
      const webhook = makeWebhook({ eventTypes: ['response.completed', 'response.cancelled'] });
      await on.store.webhooks.insert(webhook, 'secret', 10);
      const group = makeGroup(2);
      const response = (id: string) => ({ ...unfinished, id });
      const [one, two] = [response(nextId('resp_')), response(nextId('resp_'))];
      const [a, b] = asked(['a', 'b']);
      await create(group, [
        { ...a!, response: { ...one, requestId: 'req_1' } },
        { ...b!, response: { ...two, requestId: 'req_2' } },
      ]);
      expect(await on.store.responses.get('org_a', one.id, start)).toMatchObject({ status: 'in_progress' });
      const end = (status: 'completed' | 'cancelled') => ({
        status,
        output: '[1]',
        body: '{}',
        pieces: null,
      });
      const chat: StoredChat = {
        id: 'chatcmpl_1',
        orgId: 'org_a',
        keyId: null,
        createdAt: start,
        expiresAt: start + 1_000,
        model: 'm1',
        metadata: '{}',
        messages: '[]',
        body: '{}',
      };
      const cancelled = { ended: { id: two.id, end: end('cancelled') } };
      await on.store.requests.end('org_a', { ...failure(group, 1), rows: cancelled }, start);
      await claimOf(on.store, 'w', group.id);
      const rowsOf = (id: string) => ({ ended: { id, end: end('completed') }, chat });
      const results = [
        { ...output(group, 0), rows: rowsOf(one.id) },
        { ...output(group, 1), rows: { ended: { id: two.id, end: end('completed') } } },
      ];
      await on.store.results.record('w', results, [], start);
      await on.store.results.record('w', results, [], start);
      const statusOf = async (id: string) => (await on.store.responses.get('org_a', id, start))?.status;
      expect([await statusOf(one.id), await statusOf(two.id)]).toEqual(['completed', 'cancelled']);
      expect(await on.store.chats.get('org_a', 'chatcmpl_1', start)).toMatchObject({ id: 'chatcmpl_1' });
      const sent = await on.store.webhooks.deliveries('org_a', webhook.id, { limit: 10 });
      expect(sent.map(({ event }) => `${event.type} ${event.resourceId}`).toSorted()).toEqual([
        `response.cancelled ${two.id}`,
        `response.completed ${one.id}`,
      ]);
    });

    test('are on no list of batches', async () => {
      const group = await added(['a']);
      const { batches } = on.store;
      expect(await batches.get(group.orgId, group.id)).toBeUndefined();
      expect(await batches.list(group.orgId, { limit: 10 })).toEqual([]);
      expect(await batches.listAll({ limit: 10 })).toEqual([]);
      expect(await batches.listAll({ limit: 10, of: { models: ['m1'] } })).toEqual([]);
      expect(await batches.listAll({ limit: 10, of: { open: true } })).toEqual([]);
      expect(Object.values(await batches.countByStatus(undefined, 9)).some(Boolean)).toBe(false);
      expect((await batches.search({ limit: 10, words: ['group'] })).batches).toEqual([]);
      expect(await batches.listChanging(10)).toEqual([]);
      expect(await batches.snapshot(group.id)).toBeUndefined();
      expect(await batches.cancel(group.orgId, group.id, start, 0)).toBeUndefined();
      expect(await batches.pause(group.orgId, group.id, start)).toBe(false);
    });
  });
}
