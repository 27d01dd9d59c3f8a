import { describe, expect, it } from 'vitest';
import type { Batch } from '../../api/batches.ts';
import { isListed, withChanges } from './live-list.ts';

const batch = (id: string, fields: Partial<Batch> = {}) =>
  ({ id, status: 'in_progress', waiting: null, at_risk: false, ...fields }) as Batch;
const pages = (...lists: string[][]) => ({
  pages: lists.map((ids, n) => ({ data: ids.map((id) => batch(id)), has_more: n < lists.length - 1 })),
  pageParams: lists.map(() => undefined),
});
const idsOf = (list: ReturnType<typeof withChanges>) =>
  list.pages.map(({ data }) => data.map(({ id }) => id));

describe('a live list', () => {
  it('changes rows in place and keeps the others', () => {
    const before = pages(['9', '8'], ['7', '6']);
    const after = withChanges(before, [batch('6', { status: 'cancelling' })], {});
    expect(after.pages[0]).toBe(before.pages[0]);
    expect(after.pages[1]!.data[0]).toBe(before.pages[1]!.data[0]);
    expect(after.pages[1]!.data[1]!.status).toBe('cancelling');
  });

  it('puts new batches where they belong', () => {
    expect(
      idsOf(withChanges(pages(['8', '6'], ['4']), [batch('9'), batch('7'), batch('5'), batch('1')], {})),
    ).toEqual([
      ['9', '8', '7', '6'],
      ['5', '4', '1'],
    ]);
    const more = pages(['8'], ['6']);
    more.pages[1]!.has_more = true;
    expect(idsOf(withChanges(more, [batch('1')], {}))).toEqual([['8'], ['6']]);
    expect(idsOf(withChanges(pages([]), [batch('1')], {}))).toEqual([['1']]);
  });

  it('drops deleted batches', () => {
    const before = pages(['3', '2'], ['1']);
    const after = withChanges(before, [], {}, new Set(['2', '9']));
    expect(idsOf(after)).toEqual([['3'], ['1']]);
    expect(after.pages[1]).toBe(before.pages[1]);
  });

  it('drops batches that no longer match', () => {
    const filters = { status: 'in_progress' } as const;
    expect(idsOf(withChanges(pages(['2', '1']), [batch('2', { status: 'completed' })], filters))).toEqual([
      ['1'],
    ]);
    const queued = batch('1', { waiting: { reason: 'queued' } as Batch['waiting'] });
    expect([isListed(queued, { waiting: 'any' }), isListed(queued, { waiting: 'paused' })]).toEqual([
      true,
      false,
    ]);
    expect([isListed(queued, { at_risk: true }), isListed(batch('1'), { waiting: 'any' })]).toEqual([
      false,
      false,
    ]);
  });
});
