import { describe, expect, test } from 'vitest';
import type { StoredResponse } from '../../../src/core/response.ts';
import type { Stores } from '../conformance.ts';
import { hour, nextId, start, storedBytes } from '../fixtures.ts';

export function makeResponse(fields: Partial<StoredResponse> = {}): StoredResponse {
  return {
    id: nextId('resp_'),
    orgId: 'org_a',
    keyId: 'key_a',
    status: 'completed',
    previousId: null,
    createdAt: start,
    expiresAt: start + hour,
    aliveUntil: null,
    requestId: null,
    saidBytes: 100,
    input: '[{"text":"naïve 日本 \\u0000"}]',
    output: '[{"id":"é"}]',
    body: '{"output":[]}',
    pieces: null,
    ...fields,
  };
}

export function responseTests(on: Stores): void {
  const add = async (fields: Partial<StoredResponse> = {}) => {
    const response = makeResponse(fields);
    await on.store.responses.insert([response]);
    return response;
  };
  const unfinished = (fields: Partial<StoredResponse> = {}) =>
    add({ status: 'in_progress', aliveUntil: start + 10, ...fields });
  const done = { status: 'completed', output: '["ß"]', body: '{"done":true}', pieces: '[[0,4]]' } as const;
  const withoutInput = (response: StoredResponse) => {
    const { input: _, ...rest } = response;
    return rest;
  };
  const linkOf = ({ id, status, saidBytes }: StoredResponse) => ({ id, status, saidBytes });
  const bytesOf = ({ input, output, body, pieces }: StoredResponse) =>
    Buffer.byteLength(input + output + body + (pieces ?? ''));
  const ids = (responses: { id: string }[]) => responses.map(({ id }) => id);

  describe('responses', () => {
    test('come back with every field', async () => {
      const whole = await add({ pieces: '[[0,1]]', previousId: 'resp_before' });
      const running = await unfinished();
      expect(await on.store.responses.get('org_a', whole.id, start)).toEqual(withoutInput(whole));
      expect(await on.store.responses.get('org_a', running.id, start)).toEqual(withoutInput(running));
    });

    test('are inserted in groups, all or none', async () => {
      const many = Array.from({ length: 67 }, (_, n) => makeResponse({ input: `[${n}]` }));
      await on.store.responses.insert(many);
      for (const each of [many[0]!, many[66]!])
        expect(await on.store.responses.get('org_a', each.id, start)).toEqual(withoutInput(each));
      const fresh = Array.from({ length: 66 }, () => makeResponse());
      await expect(on.store.responses.insert([...fresh, many[5]!])).rejects.toThrow();
      expect(await on.store.responses.get('org_a', fresh[0]!.id, start)).toBeUndefined();
    });

    test('of other orgs, unknown and expired ones are not found', async () => {
      const { id } = await add();
      expect(await on.store.responses.get('org_b', id, start)).toBeUndefined();
      expect(await on.store.responses.get('org_a', 'resp_unknown', start)).toBeUndefined();
      expect(await on.store.responses.get('org_a', id, start + hour - 1)).toBeDefined();
      expect(await on.store.responses.get('org_a', id, start + hour)).toBeUndefined();
    });

    const most = { links: 10, bytes: 1_000 };

    test('are read as a chain, newest first', async () => {
      const a = await add();
      const b = await add({ previousId: a.id });
      const c = await add({ previousId: b.id });
      await add({ previousId: b.id });
      expect(await on.store.responses.chain('org_a', c.id, start, most)).toEqual({
        links: [c, b, a].map(linkOf),
        end: 'whole',
      });
      expect(await on.store.responses.chain('org_a', 'resp_unknown', start, most)).toEqual({
        links: [],
        end: 'gone',
      });
    });

    test('are read as a chain that is cut at its maximum length and size', async () => {
      const a = await add();
      const b = await add({ previousId: a.id });
      const c = await add({ previousId: b.id });
      const chain = async (limits: Partial<typeof most>) => {
        const chained = await on.store.responses.chain('org_a', c.id, start, { ...most, ...limits });
        return [...ids(chained.links), chained.end];
      };
      expect(await chain({ links: 3 })).toEqual([c.id, b.id, a.id, 'whole']);
      expect(await chain({ links: 2 })).toEqual([c.id, b.id, 'long']);
      expect(await chain({ bytes: 300 })).toEqual([c.id, b.id, a.id, 'whole']);
      expect(await chain({ bytes: 299 })).toEqual([c.id, b.id, a.id, 'large']);
      expect(await chain({ bytes: 199 })).toEqual([c.id, b.id, 'large']);
    });

    test('are read as a chain up to the first that is removed, expired or of another org', async () => {
      const chain = async (id: string, now = start) => {
        const chained = await on.store.responses.chain('org_a', id, now, most);
        return [...ids(chained.links), chained.end];
      };
      const foreign = await add({ orgId: 'org_b' });
      const over = await add({ previousId: foreign.id });
      expect(await chain(over.id)).toEqual([over.id, 'gone']);
      expect(await chain(foreign.id)).toEqual(['gone']);
      const old = await add({ expiresAt: start + 1 });
      const young = await add({ previousId: old.id });
      expect(await chain(young.id, start + 1)).toEqual([young.id, 'gone']);
    });

    test('return sizes and texts of their inputs and outputs, within the org', async () => {
      const { responses } = on.store;
      const [a, b, old] = [
        await add(),
        await unfinished({ input: '[]' }),
        await add({ expiresAt: start + 1 }),
      ];
      const foreign = await add({ orgId: 'org_b' });
      const all = [a.id, b.id, old.id, foreign.id, 'resp_unknown'];
      expect(await responses.sizes('org_a', 'input', all, start + 1)).toEqual({
        [a.id]: Buffer.byteLength(a.input),
        [b.id]: 2,
      });
      expect(await responses.texts('org_a', 'output', all, start + 1)).toEqual({
        [a.id]: a.output,
        [b.id]: b.output,
      });
      expect(await responses.texts('org_a', 'input', [a.id], start)).toEqual({ [a.id]: a.input });
      expect(await responses.texts('org_a', 'input', [], start)).toEqual({});
    });

    test('count as storage until they are removed', async () => {
      const { responses } = on.store;
      expect(await storedBytes(on.store, 'org_a')).toBe(0);
      const [a, old] = [makeResponse({ pieces: '[]' }), makeResponse({ expiresAt: start + 1 })];
      const foreign = makeResponse({ orgId: 'org_b' });
      const all = bytesOf(a) + bytesOf(old);
      expect(await responses.insert([a, foreign, old])).toEqual([
        { ownerId: 'key_a', bytes: all + bytesOf(foreign), fileBytes: 0, responses: 3 },
        { ownerId: 'org_a', bytes: all, fileBytes: 0, responses: 2 },
        { ownerId: 'org_b', bytes: bytesOf(foreign), fileBytes: 0, responses: 1 },
      ]);
      expect(await storedBytes(on.other, 'org_a')).toBe(all);
      await expect(responses.insert([makeResponse(), a])).rejects.toThrow();
      expect(await storedBytes(on.store, 'org_a')).toBe(all);
      const running = await unfinished();
      await responses.finish(running.id, done);
      await responses.finish(running.id, done);
      expect(await storedBytes(on.store, 'org_a')).toBe(all + bytesOf({ ...running, ...done }));
      const { saidBytes } = (await on.store.responses.get('org_a', running.id, start))!;
      expect(saidBytes).toBe(100 + Buffer.byteLength(done.output));
      await responses.remove('org_a', running.id, start);
      await responses.remove('org_a', running.id, start);
      expect(await storedBytes(on.store, 'org_a')).toBe(all);
      expect(await responses.removeExpired(start + 1, 10)).toBe(1);
      expect(await storedBytes(on.store, 'org_a')).toBe(bytesOf(a));
    });

    test('are counted exactly under concurrent writes and removals', async () => {
      const rows = Array.from({ length: 20 }, (_, n) => makeResponse({ orgId: n % 2 ? 'org_a' : 'org_b' }));
      await Promise.all(rows.map((row, n) => (n % 3 ? on.store : on.other).responses.insert([row])));
      await Promise.all(rows.slice(5).map((row) => on.other.responses.remove(row.orgId, row.id, start)));
      const left = rows.slice(0, 5).filter(({ orgId }) => orgId === 'org_a');
      expect(await storedBytes(on.store, 'org_a')).toBe(left.reduce((sum, row) => sum + bytesOf(row), 0));
    });

    test('end once', async () => {
      const { id } = await unfinished();
      expect(await on.store.responses.finish(id, done)).toBe(true);
      expect(await on.other.responses.finish(id, { ...done, status: 'cancelled' })).toBe(false);
      expect(await on.store.responses.get('org_a', id, start)).toMatchObject({ ...done, aliveUntil: null });
      expect(await on.store.responses.finish((await add()).id, done)).toBe(false);
      expect(await on.store.responses.finish('resp_unknown', done)).toBe(false);
    });

    test('end once when two processes end them concurrently', async () => {
      for (let round = 0; round < 5; round++) {
        const { id } = await unfinished();
        const outcomes = await Promise.all([
          on.store.responses.finish(id, done),
          on.other.responses.finish(id, { ...done, status: 'cancelled' }),
        ]);
        expect(outcomes.toSorted()).toEqual([false, true]);
        const winner = outcomes[0] ? 'completed' : 'cancelled';
        expect((await on.store.responses.get('org_a', id, start))?.status).toBe(winner);
      }
    });

    test('are abandoned once the lease of their process has lapsed, unless a request makes them', async () => {
      const a = await unfinished();
      const b = await unfinished({ aliveUntil: start + 20 });
      const made = await unfinished({ requestId: 'req_1_0' });
      expect(await on.store.responses.abandoned(start + 9, 10)).toEqual([]);
      expect(ids(await on.store.responses.abandoned(start + 10, 10))).toEqual([a.id]);
      expect(ids(await on.store.responses.abandoned(start + 20, 10))).toEqual([a.id, b.id]);
      expect(ids(await on.store.responses.abandoned(start + 20, 1))).toEqual([a.id]);
      expect(await on.store.responses.idOf('org_a', 'req_1_0', start)).toBe(made.id);
      expect(await on.store.responses.idOf('org_b', 'req_1_0', start)).toBeUndefined();
      expect(await on.store.responses.idOf('org_a', 'req_1_1', start)).toBeUndefined();
    });

    test('are removed once, and only by their org', async () => {
      const { id } = await add();
      expect(await on.store.responses.remove('org_b', id, start)).toBe(false);
      expect(await on.store.responses.remove('org_a', id, start + hour)).toBe(false);
      expect(await on.store.responses.remove('org_a', id, start)).toBe(true);
      expect(await on.store.responses.remove('org_a', id, start)).toBe(false);
    });

    test('that expired are swept a few at a time, but not while they are generated', async () => {
      for (let i = 0; i < 3; i++) await add({ expiresAt: start + i });
      const running = await unfinished({ expiresAt: start });
      const young = await add();
      expect(await on.store.responses.removeExpired(start + 5, 2)).toBe(2);
      expect(await on.store.responses.removeExpired(start + 5, 2)).toBe(1);
      expect(await on.store.responses.removeExpired(start + 5, 2)).toBe(0);
      expect(await on.store.responses.get('org_a', young.id, start)).toEqual(withoutInput(young));
      await on.store.responses.finish(running.id, done);
      expect(await on.store.responses.removeExpired(start + 5, 2)).toBe(1);
    });
  });
}
