import { describe, expect, it } from 'vitest';
import { choose } from './choose.ts';

const candidate = (batchId: string, orgId: string, due: number, model = 'm') =>
  ({ batchId, orgId, due, model, status: 'in_progress' }) as const;
const wanted = new Set(['m']);
const served = (times: Record<string, number>) => (orgId: string) => times[orgId] ?? 0;

describe('choose', () => {
  it('takes nothing when nothing can take lines', () => {
    expect(choose([candidate('b', 'o', 1, 'n')], { wanted, served: served({}) })).toBeUndefined();
    expect(choose([], { wanted, served: served({}) })).toBeUndefined();
  });

  it('takes the org that was served least, however urgent the others are', () => {
    const candidates = [candidate('urgent', 'rich', 1), candidate('patient', 'poor', 9)];
    expect(choose(candidates, { wanted, served: served({ rich: 100, poor: 99 }) })?.batchId).toBe('patient');
  });

  it('takes the least due of an org', () => {
    const candidates = [candidate('later', 'o', 2), candidate('sooner', 'o', 1)];
    expect(choose(candidates, { wanted, served: served({}) })?.batchId).toBe('sooner');
  });

  it('leaves the order of equals to the database', () => {
    const candidates = [candidate('first', 'o', 1), candidate('second', 'p', 1)];
    expect(choose(candidates, { wanted, served: served({}) })?.batchId).toBe('first');
  });

  it('serves ten orgs with equal work equally, whoever asks first', () => {
    const times: Record<string, number> = {};
    const candidates = Array.from({ length: 10 }, (_, at) => candidate(`b${at}`, `o${at}`, at));
    for (let n = 0; n < 1_000; n++) {
      const { orgId } = choose(candidates, { wanted, served: served(times) })!;
      times[orgId] = (times[orgId] ?? 0) + 1;
    }
    expect(Object.values(times)).toEqual(Array(10).fill(100));
  });
});
