import { describe, expect, it } from 'vitest';
import { chooseChunks, type OrgQueue, type ReadyChunk, type ClaimTarget } from './fair-queueing.ts';
import { asLate } from './urgency.ts';

const noSuspects = { minKills: 2, max: 0, mayTakeAlone: false };
const wish = (fields: Partial<ClaimTarget>): ClaimTarget => ({
  lines: 0,
  chunks: 0,
  claimedDue: {},
  moreOrgs: 0,
  ...fields,
});

function queue(orgId: string, chunks: number, fields: Partial<OrgQueue & ReadyChunk> = {}): OrgQueue {
  const { start = 0, weight = 1, hasMore: more = false, isLate = false } = fields;
  const chunk = {
    batchId: `b_${orgId}`,
    due: 0,
    lines: 4,
    est: 100,
    kills: 0,
    ...fields,
    orgId,
  };
  return {
    orgId,
    start,
    weight,
    isLate,
    hasMore: more,
    chunks: Array.from({ length: chunks }, (_, seq) => ({ ...chunk, seq })),
  };
}

const orgs = (queues: OrgQueue[], of: Partial<ClaimTarget>, suspects = { ...noSuspects }) =>
  chooseChunks(queues, wish(of), suspects)
    .chunks.map(({ orgId }) => orgId)
    .join('');

describe('chooseChunks', () => {
  it('takes chunks until both minimums are reached', () => {
    expect(orgs([queue('a', 9)], { lines: 9 })).toBe('aaa');
    expect(orgs([queue('a', 9)], { lines: 1, chunks: 2 })).toBe('aa');
    expect(orgs([queue('a', 1)], { lines: 9 })).toBe('a');
    expect(orgs([queue('a', 1)], {})).toBe('');
    expect(orgs([], { chunks: 1 })).toBe('');
  });

  it('takes each chunk from the org that was served least', () => {
    expect(orgs([queue('a', 9), queue('b', 9)], { chunks: 6 })).toBe('ababab');
    expect(orgs([queue('a', 9, { start: 250 }), queue('b', 9)], { chunks: 6 })).toBe('bbbaba');
    expect(orgs([queue('a', 9, { est: 300 }), queue('b', 9)], { chunks: 8 })).toBe('abbbabbb');
  });

  it('gives an org of twice the weight twice as much', () => {
    expect(orgs([queue('a', 9, { weight: 2 }), queue('b', 9)], { chunks: 6 })).toBe('abaaba');
  });

  it('takes the earliest due of orgs served equally', () => {
    expect(orgs([queue('a', 2, { due: 5 }), queue('b', 2, { due: 4 })], { chunks: 2 })).toBe('ba');
  });

  it('ends at an org that has more chunks than were passed', () => {
    const cut = chooseChunks(
      [queue('a', 1, { hasMore: true }), queue('b', 9)],
      wish({ chunks: 9 }),
      noSuspects,
    );
    expect(cut).toMatchObject({
      chunks: [{ orgId: 'a' }, { orgId: 'b' }, { orgId: 'b' }],
      isTruncated: true,
    });
    const enough = chooseChunks([queue('a', 1, { hasMore: true })], wish({ chunks: 1 }), noSuspects);
    expect(enough).toMatchObject({ chunks: [{ orgId: 'a' }], isTruncated: false });
  });

  it('takes one more chunk that is due before the claimed work of its org', () => {
    const queues = [queue('a', 9, { due: 5 }), queue('b', 9, { due: 5 })];
    expect(orgs(queues, { claimedDue: { a: 5, b: 6 } })).toBe('b');
    expect(orgs(queues, { chunks: 2, claimedDue: { a: 6 } })).toBe('aba');
    expect(orgs(queues, { claimedDue: { a: 5 } })).toBe('');
  });

  it('takes a chunk of each org without claimed lines beyond the minimums, least served first', () => {
    const queues = [queue('a', 9), queue('b', 9, { start: 9 }), queue('c', 9, { start: 8 })];
    expect(orgs(queues, { claimedDue: { a: 0 }, moreOrgs: 9 })).toBe('cb');
    expect(orgs(queues, { claimedDue: { a: 0 }, moreOrgs: 1 })).toBe('c');
    expect(orgs(queues, { claimedDue: { a: 0, b: 0, c: 0 }, moreOrgs: 9 })).toBe('');
    expect(orgs(queues, { claimedDue: { a: 0 }, moreOrgs: 0 })).toBe('');
  });

  it('counts an org that got a chunk within the minimums as one with claimed lines', () => {
    const queues = [queue('a', 9), queue('b', 9, { start: 900 })];
    expect(orgs(queues, { chunks: 2, moreOrgs: 9 })).toBe('aab');
    expect(orgs(queues, { chunks: 2, moreOrgs: 1 })).toBe('aa');
  });

  it('takes both an urgent chunk and those of further orgs', () => {
    const queues = [queue('a', 9, { due: 4 }), queue('b', 9, { start: 9 })];
    expect(orgs(queues, { claimedDue: { a: 5 }, moreOrgs: 9 })).toBe('ab');
  });

  it('skips suspects beyond the limit, and takes one of the worst alone', () => {
    const queues = () => [
      queue('a', 3, { kills: 2 }),
      queue('b', 3, { kills: 3, due: 1 }),
      queue('c', 2, { due: 2 }),
    ];
    const suspects = { minKills: 2, max: 2, mayTakeAlone: true };
    expect(orgs(queues(), { chunks: 9 }, suspects)).toBe('acac');
    expect(suspects).toEqual({ minKills: 2, max: 0, mayTakeAlone: false });
    expect(orgs(queues(), { chunks: 9 }, { minKills: 2, max: 0, mayTakeAlone: true })).toBe('bcc');
    expect(orgs(queues(), { chunks: 9 }, { minKills: 2, max: 0, mayTakeAlone: false })).toBe('cc');
  });

  it('shares evenly among fifty orgs of one to a thousand batches', () => {
    const queues = Array.from({ length: 50 }, (_, n) =>
      queue(`o${n}`, 200, { est: n % 2 === 0 ? 100 : 35, due: n }),
    );
    const given = new Map<string, number>();
    for (const { orgId, est } of chooseChunks(queues, wish({ chunks: 3_000 }), noSuspects).chunks)
      given.set(orgId, (given.get(orgId) ?? 0) + est);
    const shares = [...given.values()];
    const sum = shares.reduce((a, b) => a + b, 0);
    expect(sum ** 2 / (50 * shares.reduce((a, b) => a + b ** 2, 0))).toBeGreaterThan(0.99);
  });
});

describe('late work', () => {
  const due = asLate(0);
  const million = 1_000_000;

  it('goes before the turn of its org, in turns with the orgs before it', () => {
    expect(orgs([queue('a', 9, { start: 500, due }), queue('b', 9)], { chunks: 6 })).toBe('ababab');
    expect(orgs([queue('a', 9, { start: 500, due }), queue('b', 9), queue('c', 9)], { chunks: 6 })).toBe(
      'abacab',
    );
  });

  it('goes ahead by its credit and no further', () => {
    const late = queue('a', 9, { start: million - 50, due });
    expect(orgs([late, queue('b', 9), queue('c', 9)], { chunks: 9 })).toBe('abcabcabc');
  });

  it('goes ahead only once the tokens that it took are given in turn', () => {
    const queues = () => [queue('a', 9, { start: 500, due }), queue('b', 9)];
    const choose = (owed: number) =>
      chooseChunks(queues(), wish({ chunks: 3 }), { ...noSuspects }, owed).chunks.map(
        ({ orgId, isAhead }) => `${orgId}${isAhead ? '!' : ''}`,
      );
    expect(choose(0)).toEqual(['a!', 'b', 'a!']);
    expect(choose(150)).toEqual(['b', 'b', 'a!']);
  });

  it('is served in turn where its org is first', () => {
    const { chunks } = chooseChunks([queue('a', 9, { due }), queue('b', 9)], wish({ chunks: 3 }), noSuspects);
    expect(chunks.map(({ orgId, isAhead }) => [orgId, isAhead])).toEqual([
      ['a', false],
      ['a', true],
      ['b', false],
    ]);
  });

  it.each([
    [10, 60, 1 / 2],
    [40, 40, 1 / 2],
    [60, 10, 1 / 7],
  ])('of %i orgs leaves %i others %f of the tokens', (late, others, share) => {
    const queues = [
      ...Array.from({ length: late }, (_, n) => queue(`late${n}`, 500, { start: 10, est: 300, due })),
      ...Array.from({ length: others }, (_, n) => queue(`o${n}`, 500)),
    ];
    const { chunks } = chooseChunks(queues, wish({ chunks: 4_000 }), noSuspects);
    const given = { o: 0, l: 0 };
    for (const { orgId, est } of chunks) given[orgId[0] as 'o' | 'l'] += est;
    expect(given.o / (given.o + given.l)).toBeGreaterThan(0.95 * share);
    expect(given.o / (given.o + given.l)).toBeLessThan(1.05 * share);
  });

  it('of one org takes no more than the credit from the others, however long it is late', () => {
    const est = 10_000;
    const { chunks } = chooseChunks(
      [queue('a', 2_000, { est, due }), queue('b', 2_000, { est }), queue('c', 2_000, { est })],
      wish({ chunks: 3_000 }),
      noSuspects,
    );
    const ofA = chunks.filter(({ orgId }) => orgId === 'a').length * est;
    const share = (3_000 * est) / 3;
    expect(ofA - share).toBeGreaterThan(0.6 * million);
    expect(ofA - share).toBeLessThanOrEqual(million + est);
  });

  it('ends the choice at an org with late chunks that were not passed', () => {
    const unread = { ...queue('a', 0, { start: 500, isLate: true }), hasMore: true };
    const choose = (owed: number) =>
      chooseChunks([unread, queue('b', 9)], wish({ chunks: 2 }), { ...noSuspects }, owed);
    expect(choose(0)).toEqual({ chunks: [], isTruncated: true });
    expect(choose(200)).toMatchObject({ chunks: [{ orgId: 'b' }, { orgId: 'b' }], isTruncated: false });
  });

  it('brings a chunk beyond the minimums for orgs without claimed lines', () => {
    const queues = [queue('a', 9), queue('b', 9, { start: 9, due }), queue('c', 9, { start: 9 })];
    const claimedDue = { a: 0 };
    expect(orgs(queues, { claimedDue, moreLateOrgs: 9 })).toBe('b');
    expect(orgs(queues, { claimedDue })).toBe('');
    expect(orgs(queues, { claimedDue: { a: 0, b: due }, moreLateOrgs: 9 })).toBe('');
    const far = [queue('a', 9), queue('b', 9, { start: million, due })];
    expect(orgs(far, { claimedDue, moreLateOrgs: 9 })).toBe('');
  });
});
