import { describe, expect, it } from 'vitest';
import { chooseChunks, type OrgQueue, type ReadyChunk, type ClaimTarget } from './fair-queueing.ts';

const noSuspects = { minKills: 2, max: 0, mayTakeAlone: false };
const wish = (fields: Partial<ClaimTarget>): ClaimTarget => ({
  lines: 0,
  chunks: 0,
  claimedDue: {},
  moreOrgs: 0,
  ...fields,
});

function queue(orgId: string, chunks: number, fields: Partial<OrgQueue & ReadyChunk> = {}): OrgQueue {
  const { start = 0, weight = 1, hasMore: more = false } = fields;
  const chunk = {
    batchId: `b_${orgId}`,
    due: 0,
    lines: 4,
    est: 100,
    kills: 0,
    late: false,
    ...fields,
    orgId,
  };
  return {
    orgId,
    start,
    weight,
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

  it('advances an org with late work, up to the credit', () => {
    const late = queue('a', 9, { start: 1_000_000 - 250, late: true });
    expect(orgs([late, queue('b', 9)], { chunks: 5 })).toBe('aaaba');
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
