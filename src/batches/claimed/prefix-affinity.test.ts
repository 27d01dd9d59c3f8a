import { beforeEach, describe, expect, it } from 'vitest';
import { claimedChunk, noEffects } from '../../../test/support/claimed-chunk.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { nextChunk } from '../run/next-line.ts';
import type { ClaimedChunk, ClaimedChunks, ClaimedLine } from './claimed-chunks.ts';
import { LocalWork } from './local-work.ts';
import { PrefixAffinity } from './prefix-affinity.ts';

const unserved = { served: () => 0, owed: 0 };
const noLeaders = { shouldWait: () => false };

describe('PrefixLanes', () => {
  let work: LocalWork;
  let chunks: ClaimedChunks;
  let sent: ClaimedLine[];
  let kind: 'slot' | 'shared';
  let lanes: PrefixAffinity;
  beforeEach(() => {
    work = new LocalWork(createManualClock(), noEffects);
    ({ chunks } = work);
    sent = [];
    kind = 'slot';
    lanes = new PrefixAffinity({ prefixCache: () => kind, slots: () => 3 }, chunks);
  });

  /** A chunk of lines whose prompts are longer than their answers. */
  function add(seq: number, prefix: string, lines = 4): ClaimedChunk {
    const chunk = claimedChunk({ seq, prefix, lines });
    chunk.chunk.est = 0;
    chunks.add(chunk);
    return chunk;
  }

  /** Sends the next line; the prefix it has, or null when none may be sent. */
  function send(): string | null {
    const next = nextChunk(chunks, 'm', unserved, noLeaders, lanes.snapshot('m'))?.claimed;
    if (!next) return null;
    sent.push(work.send(next)!);
    lanes.sent('m', next.chunk.prefix);
    return next.chunk.prefix;
  }

  it('gives each slot a prefix of its own and sends no line more', () => {
    for (const [at, prefix] of ['a', 'b', 'c', 'd'].entries()) add(at + 1, prefix);
    expect([send(), send(), send(), send()]).toEqual(['a', 'b', 'c', null]);
  });

  it('stays with a prefix to its end before another takes its slot', () => {
    const [a] = ['a', 'b', 'c', 'd'].map((prefix, at) => add(at + 1, prefix, 2));
    expect([send(), send(), send()]).toEqual(['a', 'b', 'c']);
    work.answered(sent.find(({ claimed, state }) => claimed === a && state === 'sent')!);
    expect(send()).toBe('a');
    work.answered(sent.find(({ claimed, state }) => claimed === a && state === 'sent')!);
    expect(send()).toBe('d');
  });

  it('counts the lines of one prefix together, whatever chunk they are in', () => {
    add(1, 'a');
    add(2, 'a');
    expect([send(), send()]).toEqual(['a', null]);
  });

  it('gives a prefix with many lines more slots when they would be empty', () => {
    add(1, 'a', 33);
    add(2, 'b', 4);
    expect([send(), send(), send(), send()]).toEqual(['a', 'b', 'a', null]);
  });

  it('gives it more sooner where answers are longer than prompts', () => {
    const chunk = add(1, 'a', 9);
    chunk.chunk.est = 9_000;
    expect([send(), send(), send(), send()]).toEqual(['a', 'a', 'a', null]);
  });

  it('leaves lines without a prefix alone', () => {
    add(1, '', 5);
    expect([send(), send(), send(), send(), send()]).toEqual(['', '', '', '', '']);
  });

  it('claims until every slot has a chunk', () => {
    expect(lanes.missingChunks('m')).toBe(3);
    add(1, 'a');
    add(2, 'b', 0);
    add(3, 'c');
    expect(lanes.missingChunks('m')).toBe(1);
    add(4, 'd');
    expect(lanes.missingChunks('m')).toBe(0);
    expect(lanes.missingChunks('other')).toBe(3);
  });

  it('is off for engines with a shared cache', () => {
    kind = 'shared';
    expect([lanes.snapshot('m'), lanes.missingChunks('m')]).toEqual([null, 0]);
  });
});
