import { describe, expect, it } from 'vitest';
import type { AnsweredCall } from '../../core/call-trace.ts';
import { noUsage } from '../../core/usage.ts';
import { createRecentRequests } from './recent-requests.ts';

const call = (n: number, more: Partial<AnsweredCall> = {}): AnsweredCall => ({
  requestId: `req_${n}`,
  startedAt: n,
  caller: { orgId: 'org_a', keyId: 'key_a', keyName: 'ci' },
  method: 'POST',
  route: '/v1/messages',
  endpoint: '/v1/messages',
  status: 200,
  ms: 5,
  trace: {},
  ...more,
});

describe('recent requests', () => {
  it('are the last 1,000, oldest first', () => {
    const recent = createRecentRequests();
    const numbers = () => recent.list().map(({ startedAt }) => startedAt);
    for (let n = 0; n < 3; n++) recent.add(call(n));
    expect(numbers()).toEqual([0, 1, 2]);
    for (let n = 3; n < 2_500; n++) recent.add(call(n));
    expect(numbers()).toEqual(Array.from({ length: 1_000 }, (_, n) => 1_500 + n));
  });

  it('have what is known of their call, and none without a key', () => {
    const recent = createRecentRequests();
    const billed = { ...noUsage, inputTokens: 3, cachedTokens: 1, outputTokens: 2 };
    recent.add(call(1, { caller: undefined }));
    recent.add(call(2, { caller: { orgId: '', keyId: '' } }));
    recent.add(call(3, { status: 503, code: 'engine_overloaded' }));
    recent.add(call(4, { trace: { model: 'tiny', server: 'gpu', queuedMs: 1, firstOutputMs: 4, billed } }));
    expect(recent.list()).toEqual([
      expect.objectContaining({
        id: 'req_3',
        status: 503,
        code: 'engine_overloaded',
        model: null,
        usage: null,
      }),
      {
        id: 'req_4',
        startedAt: 4,
        orgId: 'org_a',
        keyId: 'key_a',
        keyName: 'ci',
        endpoint: '/v1/messages',
        status: 200,
        code: null,
        ms: 5,
        queuedMs: 1,
        firstMs: 4,
        model: 'tiny',
        server: 'gpu',
        usage: billed,
        prices: null,
      },
    ]);
  });
});
