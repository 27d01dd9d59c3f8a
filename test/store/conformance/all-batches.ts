import { beforeEach, describe, expect, test } from 'vitest';
import type { AllBatchesQuery } from '../../../src/store/contract/batches.ts';
import { searchWords } from '../../../src/core/batch-search.ts';
import type { Batch } from '../../../src/core/batch.ts';
import type { Stores } from '../conformance.ts';
import { addBatch, hour, start } from '../fixtures.ts';

/** Lists of the batches of all orgs. */
export function allBatchesTests(on: Stores): void {
  describe('the batches of all orgs', () => {
    let all: Batch[];

    beforeEach(async () => {
      all = [];
      for (const fields of [
        { orgId: 'org_a' },
        { orgId: 'org_b', createdAt: start + 1, model: 'm2' },
        { orgId: 'org_b', createdAt: start + 2, status: 'completed' as const, model: null },
        { orgId: 'org_c', createdAt: start + 3, status: 'completed' as const },
        { orgId: 'org_a', createdAt: start + 4, model: 'alias' },
        { orgId: 'org_b', createdAt: start + 5, status: 'cancelling' as const },
      ])
        all.push(await addBatch(on.store, fields));
    });

    const found = async (query: Partial<AllBatchesQuery>) => {
      const listed = await on.other.batches.listAll({ limit: 9, ...query });
      return listed.map(({ id }) => all.findIndex((batch) => batch.id === id));
    };

    test('are listed newest first or oldest first, page by page', async () => {
      expect(await found({})).toEqual([5, 4, 3, 2, 1, 0]);
      expect(await found({ limit: 2, after: all[4]!.id })).toEqual([3, 2]);
      expect(await found({ order: 'asc', limit: 2, after: all[1]!.id })).toEqual([2, 3]);
      expect(await on.store.batches.listAll({ limit: 1 })).toEqual([await on.store.batches.find(all[5]!.id)]);
    });

    test('are counted by status, of one org or all, up to a maximum', async () => {
      const none = { failed: 0, cancelled: 0, expired: 0, in_progress: 0 };
      const counts = (orgId?: string, max = 9) => on.other.batches.countByStatus(orgId, max);
      expect(await counts()).toEqual({ ...none, validating: 3, completed: 2, cancelling: 1 });
      expect(await counts('org_b')).toEqual({ ...none, validating: 1, completed: 1, cancelling: 1 });
      expect(await counts(undefined, 2)).toEqual({ ...none, validating: 2, completed: 2, cancelling: 1 });
    });

    test('are listed of one org, one status, one model or as far as they are open', async () => {
      expect(await found({ of: { orgId: 'org_b' } })).toEqual([5, 2, 1]);
      expect(await found({ of: { orgId: 'org_b', status: 'completed' } })).toEqual([2]);
      expect(await found({ of: { status: 'completed' } })).toEqual([3, 2]);
      expect(await found({ of: { open: true } })).toEqual([5, 4, 1, 0]);
      expect(await found({ of: { open: true }, order: 'asc', limit: 2, after: all[0]!.id })).toEqual([1, 4]);
    });

    test('are listed of a model under all its names, with those of several models', async () => {
      expect(await found({ of: { models: ['m1', 'alias'] } })).toEqual([5, 4, 3, 2, 0]);
      expect(await found({ of: { models: ['m1', 'alias'] }, limit: 2, after: all[5]!.id })).toEqual([4, 3]);
      expect(await found({ of: { models: ['m2'] }, order: 'asc' })).toEqual([1, 2]);
      expect(await found({ of: { models: ['m2'] }, createdAfter: start + 2 })).toEqual([2]);
    });

    test('are listed between two times, also if the clock of the machine that created one was late', async () => {
      expect(await found({ createdAfter: start + 2, createdBefore: start + 4 })).toEqual([3, 2]);
      expect(await found({ createdAfter: start + 9 })).toEqual([]);
      expect(await found({ createdBefore: start })).toEqual([]);
      all.push(await addBatch(on.store, { createdAt: start - hour }));
      expect(await found({ createdBefore: start + 1 })).toEqual([6, 0]);
      expect(await found({ createdBefore: start })).toEqual([6]);
      expect(await found({ createdAfter: start + 4 })).toEqual([5, 4]);
    });

    test('are searched slice by slice for words of the id, the file name and the metadata', async () => {
      const search = async (text: string, query: Partial<AllBatchesQuery> = {}) => {
        const ids: string[] = [];
        for (let after: string | undefined, calls = 0; ; calls++) {
          const words = searchWords(text);
          const page = await on.other.batches.search({ limit: 9, ...query, words, ...(after && { after }) });
          ids.push(...page.batches.map(({ id }) => id));
          if (page.next === null || calls > 9) return ids;
          after = page.next;
        }
      };
      const metadata = JSON.stringify({ team: 'Ränking 100%', run: { of: 'night_ly' } });
      const named = await addBatch(on.store, { inputName: 'Prompts.jsonl', metadata });
      const other = await addBatch(on.store, { orgId: 'org_b', inputName: 'prompts-2.jsonl' });
      expect(await search('PROMPTS')).toEqual([other.id, named.id]);
      expect(await search('prompts', { order: 'asc', limit: 1 })).toEqual([named.id, other.id]);
      expect(await search('prompts', { of: { orgId: 'org_b' } })).toEqual([other.id]);
      expect(await search('prompts', { of: { status: 'completed' } })).toEqual([]);
      expect(await search('ränking PROMPTS 100%')).toEqual([named.id]);
      expect(await search(named.id.slice(-12).toUpperCase())).toEqual([named.id]);
      // Words are no patterns, and names of metadata are not searched.
      for (const text of ['prompts%', 'prompts.jsonl.', 'nightxly', 'team', "'", '\\'])
        expect(await search(text), text).toEqual([]);
      expect(await search('night_ly')).toEqual([named.id]);
    });
  });
}
