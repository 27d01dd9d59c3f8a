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
    await on.store.responses.insert(response);
    return response;
  };
  const unfinished = (fields: Partial<StoredResponse> = {}) =>
    add({ status: 'in_progress', aliveUntil: start + 10, ...fields });
  const end = { status: 'completed', body: '{"done":true}', pieces: '[[0,4]]' } as const;
  const ids = (responses: { id: string }[]) => responses.map(({ id }) => id);

  describe('responses', () => {
    test('come back with every field', async () => {
      const whole = await add({ pieces: '[[0,1]]', previousId: 'resp_before' });
      const running = await unfinished();
      expect(await on.store.responses.get('org_a', whole.id, start)).toEqual(whole);
      expect(await on.store.responses.get('org_a', running.id, start)).toEqual(running);
    });

    test('of another org, unknown and expired ones are not there', async () => {
      const { id } = await add();
      expect(await on.store.responses.get('org_b', id, start)).toBeUndefined();
      expect(await on.store.responses.get('org_a', 'resp_unknown', start)).toBeUndefined();
      expect(await on.store.responses.get('org_a', id, start + hour - 1)).toBeDefined();
      expect(await on.store.responses.get('org_a', id, start + hour)).toBeUndefined();
    });

    test('come as a chain, newest first, up to a limit', async () => {
      const a = await add();
      const b = await add({ previousId: a.id });
      const c = await add({ previousId: b.id });
      await add({ previousId: b.id });
      expect(await on.store.responses.chain('org_a', c.id, start, 10)).toEqual([c, b, a]);
      expect(ids(await on.store.responses.chain('org_a', c.id, start, 2))).toEqual([c.id, b.id]);
      expect(await on.store.responses.chain('org_a', 'resp_unknown', start, 10)).toEqual([]);
    });

    test('chains end where a response is gone, expired or of another org', async () => {
      const foreign = await add({ orgId: 'org_b' });
      const over = await add({ previousId: foreign.id });
      expect(ids(await on.store.responses.chain('org_a', over.id, start, 10))).toEqual([over.id]);
      expect(await on.store.responses.chain('org_a', foreign.id, start, 10)).toEqual([]);
      const old = await add({ expiresAt: start + 1 });
      const young = await add({ previousId: old.id });
      expect(ids(await on.store.responses.chain('org_a', young.id, start + 1, 10))).toEqual([young.id]);
    });

    test('end once', async () => {
      const { id } = await unfinished();
      expect(await on.store.responses.finish(id, end)).toBe(true);
      expect(await on.other.responses.finish(id, { ...end, status: 'cancelled' })).toBe(false);
      expect(await on.store.responses.get('org_a', id, start)).toMatchObject({ ...end, aliveUntil: null });
      expect(await on.store.responses.finish((await add()).id, end)).toBe(false);
      expect(await on.store.responses.finish('resp_unknown', end)).toBe(false);
    });

    test('end once when two try at the same time', async () => {
      for (let round = 0; round < 5; round++) {
        const { id } = await unfinished();
        const outcomes = await Promise.all([
          on.store.responses.finish(id, end),
          on.other.responses.finish(id, { ...end, status: 'cancelled' }),
        ]);
        expect(outcomes.toSorted()).toEqual([false, true]);
        const winner = outcomes[0] ? 'completed' : 'cancelled';
        expect((await on.store.responses.get('org_a', id, start))?.status).toBe(winner);
      }
    });

    test('are renewed while they are made, and are abandoned otherwise', async () => {
      const [a, b] = [await unfinished(), await unfinished()];
      const done = await add();
      expect(await on.store.responses.renew([a.id, done.id, 'resp_unknown'], start + 100)).toEqual([a.id]);
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
      await on.store.responses.finish(running.id, end);
      expect(await on.store.responses.removeExpired(start + 5, 2)).toBe(1);
    });
  });
}
