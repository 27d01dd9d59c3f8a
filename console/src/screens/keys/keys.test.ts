import { describe, expect, it } from 'vitest';
import { changesOf, type Draft, toDraft } from './draft.ts';
import { isUsable, keyState, type KeyLike } from './key-state.ts';
import { keysSearch } from './search.ts';

const now = Date.parse('2026-11-28T12:00:00Z');
const key = (more: Partial<KeyLike> = {}): KeyLike => ({
  disabled: false,
  revoked_at: null,
  expires_at: null,
  replaced_by: null,
  ...more,
});

describe('keyState', () => {
  it.each([
    [{}, 'Active', true],
    [{ expires_at: '2026-11-28T12:00:01Z' }, 'Active', true],
    [{ replaced_by: 'key_2', expires_at: '2026-11-29T12:00:00Z' }, 'Replaced, ends', true],
    [{ disabled: true }, 'Disabled', true],
    [{ expires_at: '2026-11-28T12:00:00Z', disabled: true }, 'Expired', false],
    [{ revoked_at: '2026-11-01T12:00:00Z', disabled: true }, 'Revoked', false],
  ])('%j', (more, word, usable) => {
    expect(keyState(key(more), now).word).toBe(word);
    expect(isUsable(key(more), now)).toBe(usable);
  });
});

describe('changesOf', () => {
  const draft = (more: Partial<Draft>, limits: Partial<Draft['limits']> = {}): Draft => ({
    ...toDraft(),
    ...more,
    limits: { ...toDraft().limits, ...limits },
  });
  const before = {
    name: 'ci',
    budget: { amount: '50', period: 'month' as const, hard: true },
    limits: { requests_per_minute: 60, queued_tokens: { qwen3: 5, tiny: 7 } },
  };

  it('has the fields of something new that are filled in', () => {
    expect(changesOf(draft({ name: ' ci ' }))).toEqual({ name: 'ci' });
    expect(
      changesOf(draft({ budget: '$25.5', isHard: false }, { open_batches: '1,000', queued_tokens: 'a=b=3' })),
    ).toEqual({
      budget: { amount: '25.5', period: 'month', hard: false },
      limits: { open_batches: 1_000, queued_tokens: { 'a=b': 3 } },
    });
  });

  it('is empty without a change', () => {
    expect(changesOf(toDraft(before), before)).toEqual({});
  });

  it('lifts what was emptied', () => {
    expect(changesOf(draft({ name: 'ci' }), before)).toEqual({
      budget: null,
      limits: { requests_per_minute: null, queued_tokens: null },
    });
    const one = { ...toDraft(before), limits: { ...toDraft(before).limits, queued_tokens: 'tiny=9' } };
    expect(changesOf(one, before)).toEqual({ limits: { queued_tokens: { qwen3: null, tiny: 9 } } });
  });

  it.each([
    [{ open_batches: '-1' }, 'Open batches'],
    [{ stored_bytes: '1.5' }, 'Stored bytes'],
    [{ queued_tokens: 'qwen3' }, 'Queued tokens by model'],
    [{ queued_tokens: 'qwen3=many' }, 'Queued tokens by model'],
  ])('rejects %j, and names the field', (limits, label) => {
    expect(() => changesOf(draft({}, limits))).toThrow(label);
  });
});

it('keysSearch leaves out the default', () => {
  expect(keysSearch({ keys: 'usable', q: 7, org: 'org_1', x: 1 })).toEqual({ q: '7', org: 'org_1' });
  expect(keysSearch({ keys: 'all', q: '' })).toEqual({ keys: 'all' });
});
