import { describe, expect, it } from 'vitest';
import { idempotencyTokens, formHash } from './idempotency.ts';
import type { Incoming } from '../route.ts';

const incoming = (headers: Record<string, string>) =>
  ({
    headers,
    startedAt: 1000,
    caller: { orgId: 'org_1', keyId: 'key_1', scopes: [], models: null },
  }) as unknown as Incoming;

describe('creationOf', () => {
  it('is the key and the body for ten minutes when no Idempotency-Key was sent', () => {
    expect(idempotencyTokens(incoming({}), 'batches')('aa')).toEqual({
      token: 'h:batches:key_1:aa',
      bodyHash: 'aa',
      startedAt: 1000,
      retry: 0,
      ttlMs: 600_000,
    });
  });

  it('is the Idempotency-Key for a day', () => {
    expect(idempotencyTokens(incoming({ 'idempotency-key': 'x y' }), 'files')('aa')).toMatchObject({
      token: 'k:files:x y',
      bodyHash: 'aa',
      ttlMs: 86_400_000,
    });
  });

  it.each([
    ['2', 2],
    ['0', 0],
    ['-1', 0],
    ['1.5', 0],
    ['many', 0],
  ])('takes the retry count %j as %i', (sent, retry) => {
    expect(idempotencyTokens(incoming({ 'x-stainless-retry-count': sent }), 'files')('aa').retry).toBe(retry);
  });

  it('422: an Idempotency-Key that is empty or longer than 255 characters', () => {
    expect(
      idempotencyTokens(incoming({ 'idempotency-key': 'x'.repeat(255) }), 'files')('aa').token,
    ).toHaveLength(263);
    for (const key of ['', 'x'.repeat(256)])
      expect(() => idempotencyTokens(incoming({ 'idempotency-key': key }), 'files')('aa')).toThrow(
        expect.objectContaining({ status: 422, param: 'Idempotency-Key' }),
      );
  });
});

describe('formHash', () => {
  it('does not depend on the order of the fields, and on nothing else than them', () => {
    expect(formHash({ a: '1', b: '2' })).toBe(formHash({ b: '2', a: '1' }));
    expect(formHash({ a: '1', b: '2' })).not.toBe(formHash({ a: '12', b: '' }));
    expect(formHash({ a: '1', b: undefined })).not.toBe(formHash({ a: '1', b: 'undefined' }));
  });
});
