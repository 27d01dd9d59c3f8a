import { describe, expect, test } from 'vitest';
import type { StoredResponse } from '../../../src/core/response.ts';
import type { Stores } from '../conformance.ts';
import { hour, nextId, start } from '../fixtures.ts';

function makeResponse(fields: Partial<StoredResponse> = {}): StoredResponse {
  return {
    id: nextId('resp_'),
    orgId: 'org_a',
    status: 'completed',
    previousId: null,
    createdAt: start,
    expiresAt: start + hour,
    aliveUntil: null,
    input: '[{"text":"naïve 日本 \\u0000"}]',
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
  const done = { status: 'completed', body: '{"done":true}', pieces: '[[0,4]]' } as const;
  const ids = (responses: { id: string }[]) => responses.map(({ id }) => id);

  describe('responses', () => {
    test('come back with every field', async () => {
      const whole = await add({ pieces: '[[0,1]]', previousId: 'resp_before' });
      const running = await unfinished();
      expect(await on.store.responses.get('org_a', whole.id, start)).toEqual(whole);
      expect(await on.store.responses.get('org_a', running.id, start)).toEqual(running);
    });

    test('are inserted many at a time, all or none', async () => {
      const many = Array.from({ length: 67 }, (_, n) => makeResponse({ input: `[${n}]` }));
      await on.store.responses.insert(many);
      for (const each of [many[0]!, many[66]!])
        expect(await on.store.responses.get('org_a', each.id, start)).toEqual(each);
      const fresh = Array.from({ length: 66 }, () => makeResponse());
      await expect(on.store.responses.insert([...fresh, many[5]!])).rejects.toThrow();
      expect(await on.store.responses.get('org_a', fresh[0]!.id, start)).toBeUndefined();
    });

    test('of another org, unknown and expired ones are not there', async () => {
      const { id } = await add();
      expect(await on.store.responses.get('org_b', id, start)).toBeUndefined();
      expect(await on.store.responses.get('org_a', 'resp_unknown', start)).toBeUndefined();
      expect(await on.store.responses.get('org_a', id, start + hour - 1)).toBeDefined();
      expect(await on.store.responses.get('org_a', id, start + hour)).toBeUndefined();
    });

    const most = { links: 10, chars: 1_000 };

    test('come as a chain, newest first', async () => {
      const a = await add();
      const b = await add({ previousId: a.id });
      const c = await add({ previousId: b.id });
      await add({ previousId: b.id });
      expect(await on.store.responses.chain('org_a', c.id, start, most)).toEqual({
        links: [c, b, a],
        end: 'whole',
      });
      expect(await on.store.responses.chain('org_a', 'resp_unknown', start, most)).toEqual({
        links: [],
        end: 'gone',
      });
    });

    test('come as a chain that is cut where it is too long or too large', async () => {
      const a = await add();
      const b = await add({ previousId: a.id });
      const c = await add({ previousId: b.id });
      const chain = async (limits: Partial<typeof most>) => {
        const chained = await on.store.responses.chain('org_a', c.id, start, { ...most, ...limits });
        return [...ids(chained.links), chained.end];
      };
      expect(await chain({ links: 3 })).toEqual([c.id, b.id, a.id, 'whole']);
      expect(await chain({ links: 2 })).toEqual([c.id, b.id, 'cut']);
      const size = a.input.length + a.body.length;
      expect(await chain({ chars: 2 * size })).toEqual([c.id, b.id, a.id, 'whole']);
      expect(await chain({ chars: 2 * size - 1 })).toEqual([c.id, b.id, 'cut']);
    });

    test('come as a chain up to where one is gone, expired or of another org', async () => {
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

    test('end once', async () => {
      const { id } = await unfinished();
      expect(await on.store.responses.finish(id, done)).toBe(true);
      expect(await on.other.responses.finish(id, { ...done, status: 'cancelled' })).toBe(false);
      expect(await on.store.responses.get('org_a', id, start)).toMatchObject({ ...done, aliveUntil: null });
      expect(await on.store.responses.finish((await add()).id, done)).toBe(false);
      expect(await on.store.responses.finish('resp_unknown', done)).toBe(false);
    });

    test('end once when two try at the same time', async () => {
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

    test('are renewed while they are made, and are abandoned otherwise', async () => {
      const [a, b] = [await unfinished(), await unfinished()];
      const finished = await add();
      expect(await on.store.responses.renew([a.id, finished.id, 'resp_unknown'], start + 100)).toEqual([
        a.id,
      ]);
      expect(await on.store.responses.renew([], start + 100)).toEqual([]);
      expect(await on.store.responses.abandoned(start + 9, 10)).toEqual([]);
      expect(ids(await on.store.responses.abandoned(start + 10, 10))).toEqual([b.id]);
      expect(ids(await on.store.responses.abandoned(start + 100, 10))).toEqual([b.id, a.id]);
      expect(ids(await on.store.responses.abandoned(start + 100, 1))).toEqual([b.id]);
    });

    test('are removed once, and only by their org', async () => {
      const { id } = await add();
      expect(await on.store.responses.remove('org_b', id, start)).toBe(false);
      expect(await on.store.responses.remove('org_a', id, start + hour)).toBe(false);
      expect(await on.store.responses.remove('org_a', id, start)).toBe(true);
      expect(await on.store.responses.remove('org_a', id, start)).toBe(false);
    });

    test('that expired are swept a few at a time, but not while they are made', async () => {
      for (let i = 0; i < 3; i++) await add({ expiresAt: start + i });
      const running = await unfinished({ expiresAt: start });
      const young = await add();
      expect(await on.store.responses.removeExpired(start + 5, 2)).toBe(2);
      expect(await on.store.responses.removeExpired(start + 5, 2)).toBe(1);
      expect(await on.store.responses.removeExpired(start + 5, 2)).toBe(0);
      expect(await on.store.responses.get('org_a', young.id, start)).toEqual(young);
      await on.store.responses.finish(running.id, done);
      expect(await on.store.responses.removeExpired(start + 5, 2)).toBe(1);
    });
  });
}
