import { describe, expect, it } from 'vitest';
import { ApiError } from '../../core/errors.ts';
import type { Batch } from '../../core/batch.ts';
import { noUsage } from '../../core/usage.ts';
import { type BatchView, batchJson, presentBatch, presentEstimate } from './present.ts';
import { errorLine, outputLine } from './result-line.ts';
import { readLine } from './read-line.ts';

const created = Date.UTC(2026, 10, 21, 9, 30, 0, 999);
const batch: Batch = {
  id: 'batch_1',
  orgId: 'org_1',
  keyId: 'key_1',
  keyFamily: null,
  endpoint: '/v1/chat/completions',
  status: 'in_progress',
  est: 100,
  priority: 5,
  total: 10,
  ok: 3,
  err: 1,
  due: 0,
  closing: null,
  acceptUntil: 0,
  inputFileId: 'file-1',
  inputName: null,
  outputFileId: null,
  errorFileId: null,
  model: 'tiny',
  metadata: null,
  tag: '',
  prices: {},
  priceFactor: 0.5,
  windowMs: 86_400_000,
  errors: [],
  warnings: [],
  pausedAt: null,
  pausedMs: 0,
  atRiskAt: null,
  retryOf: null,
  tier: null,
  resultTtlMs: 0,
  createdAt: created,
  inProgressAt: created + 1_000,
  expiresAt: created + 86_400_000,
  completedAt: null,
  failedAt: null,
  expiredAt: null,
  cancellingAt: null,
  cancelledAt: null,
};
const view = (changes: Partial<Batch> = {}, more: Partial<BatchView> = {}): BatchView => ({
  batch: { ...batch, ...changes },
  usage: noUsage,
  amount: 0n,
  listAmount: 0n,
  uncachedAmount: 0n,
  running: 0,
  ratePerMinute: null,
  eta: null,
  waiting: null,
  place: null,
  atRisk: false,
  errorSummary: [],
  ...more,
});

describe('a batch as clients see it', () => {
  it('has every documented field', () => {
    const usage = {
      inputTokens: 100,
      cachedTokens: 40,
      cacheWriteTokens: 0,
      outputTokens: 20,
      reasoningTokens: 15,
    };
    const body = presentBatch(
      view(
        {},
        {
          usage,
          amount: 1_250_000n,
          listAmount: 2_500_000n,
          uncachedAmount: 3_000_000n,
          running: 2,
          ratePerMinute: 12.345,
          eta: created + 60_000,
          errorSummary: [{ code: 'upstream_error', count: 1, example: 'x' }],
        },
      ),
      'iso',
    );
    expect(body).toEqual({
      id: 'batch_1',
      object: 'batch',
      name: null,
      endpoint: '/v1/chat/completions',
      model: 'tiny',
      priority: 5,
      status: 'in_progress',
      input_file_id: 'file-1',
      output_file_id: null,
      error_file_id: null,
      completion_window: '24h',
      retry_of: null,
      errors: null,
      created_at: '2026-11-21T09:30:00Z',
      in_progress_at: '2026-11-21T09:30:01Z',
      expires_at: '2026-11-22T09:30:00Z',
      completed_at: null,
      failed_at: null,
      expired_at: null,
      cancelling_at: null,
      cancelled_at: null,
      request_counts: { total: 10, completed: 3, failed: 1 },
      progress: {
        pending: 4,
        running: 2,
        rate_per_minute: 12.3,
        eta: '2026-11-21T09:31:00Z',
        batches_ahead: null,
      },
      waiting: null,
      at_risk: false,
      usage: {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 40 },
        output_tokens: 20,
        output_tokens_details: { reasoning_tokens: 15 },
        total_tokens: 120,
      },
      cost: { currency: 'USD', amount: '0.00125', list_amount: '0.0025', uncached_amount: '0.003' },
      error_summary: [{ code: 'upstream_error', count: 1, example: 'x' }],
      warnings: [],
    });
  });

  it('lists the faults of the batch as a whole', () => {
    const fault = { code: 'model_not_found', message: 'gone', param: null, line: 3 };
    expect(presentBatch(view({ errors: [fault] }), 'iso').errors).toEqual({ object: 'list', data: [fault] });
  });

  it('reports why it waits, and since when', () => {
    const cause = { reason: 'credentials_refused', message: 'No.', since: created } as const;
    expect(presentBatch(view({}, { waiting: cause }), 'iso').waiting).toEqual({
      reason: 'credentials_refused',
      message: 'No.',
      since: '2026-11-21T09:30:00Z',
      until: null,
    });
    const hours = { reason: 'hours', message: 'Later.', since: created, until: created + 3_600_000 } as const;
    expect(presentBatch(view({}, { waiting: hours }), 'iso').waiting?.until).toBe('2026-11-21T10:30:00Z');
  });

  it('has all times in Unix seconds on request', () => {
    const seconds = Math.floor(created / 1000);
    const waiting = { reason: 'credentials_refused', message: 'No.', since: created } as const;
    const json = batchJson(view({}, { waiting, eta: created + 60_000 }), 'unix');
    expect(json).not.toMatch(/\d{4}-\d\d-\d\d/);
    expect(JSON.parse(json)).toMatchObject({
      created_at: seconds,
      in_progress_at: seconds + 1,
      expires_at: seconds + 86_400,
      completed_at: null,
      progress: { eta: seconds + 60 },
      waiting: { since: seconds },
    });
  });

  it('never counts a negative number of pending lines', () => {
    expect(presentBatch(view({ ok: 9, err: 1 }, { running: 3 }), 'iso').progress.pending).toBe(0);
  });

  it('B36: echoes the metadata byte for byte', () => {
    const metadata = '{ "__proto__":{"x":1},"n":1.10,"nul":"\\u0000"}';
    const json = batchJson(view({ metadata }), 'iso');
    expect(json).toContain(`"metadata":${metadata}}`);
    expect(Object.keys(JSON.parse(json) as object)).toContain('metadata');
    expect(JSON.parse(batchJson(view(), 'iso'))).toMatchObject({ id: 'batch_1', metadata: {} });
  });

  it('estimates a dry run with the same fields', () => {
    const limits = [
      { name: 'queued_tokens', owner: 'org', model: 'm', limit: 100, used: 60, adds: 40 },
      { name: 'open_batches', owner: 'key', model: null, limit: 1, used: 1, adds: 1 },
    ] as const;
    const [amount, spent] = [50_000_000_000, 49_500_000_000];
    const owner = { orgId: 'org_a', keyId: 'key_a' };
    const budget = { ...owner, amount, spent, period: 'month', usedUpAt: null } as const;
    const refusal = new ApiError('rate_limit_exceeded', 'Full.');
    const unknown = { eta: null, earliest: created, tokensAhead: 2, atRisk: false, waiting: null };
    const late = { ...unknown, atRisk: true };
    const inTime = { ...unknown, eta: created };
    const estimate = presentEstimate(
      {
        endpoint: '/v1/embeddings',
        total: 5,
        usage: { ...noUsage, inputTokens: 7, outputTokens: 3 },
        exactInput: true,
        warnings: [],
        amount: 5n,
        listAmount: 10n,
        window: { ms: 604_800_000, priceFactor: 0.5 },
        forecast: { eta: created, earliest: created, tokensAhead: 9, atRisk: true, waiting: null },
        quotes: [
          { window: { ms: 5_400_000, priceFactor: 0.8 }, amount: 8n, forecast: late },
          { window: { ms: 172_800_000, priceFactor: 0.5 }, amount: 5n, forecast: unknown },
          { window: { ms: 604_800_000, priceFactor: 0.4 }, amount: 4n, forecast: inTime },
        ],
        quota: { limits, budgets: [budget], refusals: [refusal] },
      },
      'unix',
    );
    expect(estimate.forecast).toEqual({
      eta: Math.floor(created / 1000),
      tokens_ahead: 9,
      at_risk: true,
      waiting: null,
    });
    const seconds = Math.floor(created / 1000);
    const costOf = (usd: string) => ({ currency: 'USD', amount: usd, list_amount: '0.00000001' });
    expect(estimate.windows).toEqual([
      {
        completion_window: '90m',
        cost: costOf('0.000000008'),
        can_be_met: false,
        eta: seconds,
        tokens_ahead: 2,
      },
      {
        completion_window: '48h',
        cost: costOf('0.000000005'),
        can_be_met: null,
        eta: null,
        tokens_ahead: 2,
      },
      {
        completion_window: '7d',
        cost: costOf('0.000000004'),
        can_be_met: true,
        eta: seconds,
        tokens_ahead: 2,
      },
    ]);
    expect(estimate.quota).toEqual({
      fits: false,
      reasons: [{ code: 'rate_limit_exceeded', message: 'Full.' }],
      limits,
      budgets: [
        { owner: 'key', period: 'month', hard: true, amount: '50', spent: '49.5', adds: '0.000000005' },
      ],
    });
    expect(estimate).toMatchObject({
      object: 'batch.estimate',
      completion_window: '7d',
      request_counts: { total: 5, completed: 0, failed: 0 },
      cost: { amount: '0.000000005', list_amount: '0.00000001' },
    });
    // Cached and reasoning tokens are unknown, and not 0.
    expect(estimate.usage).toEqual({ input_tokens: 7, output_tokens: 3, total_tokens: 10 });
  });
});

describe('result lines', () => {
  it('have the documented shape', () => {
    const line = outputLine({ id: 'req_1', customId: 'a "quoted" é', body: { id: 'chatcmpl_1' } });
    expect(JSON.parse(line)).toEqual({
      id: 'req_1',
      custom_id: 'a "quoted" é',
      response: { status_code: 200, request_id: 'req_1', body: { id: 'chatcmpl_1' } },
      error: null,
    });
  });

  it('report the error, with the answer if there is one', () => {
    const error = {
      code: 'upstream_error',
      message: 'm',
      type: 'server_error',
      param: null,
      attempts: 3,
      retryable: true,
    };
    const answered = errorLine({
      id: 'req_1',
      customId: 'a',
      response: { statusCode: 502, body: { error: {} } },
      error,
    });
    expect(JSON.parse(answered)).toEqual({
      id: 'req_1',
      custom_id: 'a',
      response: { status_code: 502, request_id: 'req_1', body: { error: {} } },
      error,
    });
    expect(JSON.parse(errorLine({ id: 'req_1', customId: null, response: null, error }))).toMatchObject({
      custom_id: null,
      response: null,
    });
  });

  it.each([
    { text: 'a\nb\r\u2028\u2029\u0085\u0000\ud800' },
    String.raw`{"text":"a\nb\r` + '\u2028\u2029\u0085' + String.raw`\u0000\ud800"` + '\r\n}',
  ])('F31: are one line of valid Unicode, whatever the engine answered', (body) => {
    const line = outputLine({ id: 'r', customId: 'a', body });
    expect(line).not.toMatch(/[\n\r\u2028\u2029\u0085]/);
    expect(JSON.parse(line)).toMatchObject({
      response: { body: { text: 'a\nb\r\u2028\u2029\u0085\u0000\ufffd' } },
    });
  });

  it('F31: of failures are valid in every member', () => {
    const message = 'bad \ud800\u2028 half';
    const error = { code: 'c', message, type: 't', param: null, attempts: 1, retryable: false };
    const response = { statusCode: 400, body: { error: { message } } };
    const line = errorLine({ id: 'r', customId: 'a', response, error });
    expect(line).not.toMatch(/\u2028|ud800/);
    expect(JSON.parse(line)).toMatchObject({
      error: { message: 'bad \ufffd\u2028 half' },
      response: { body: { error: { message: 'bad \ufffd\u2028 half' } } },
    });
  });
});

describe('reading a stored line', () => {
  it('B22: returns the body unchanged', () => {
    const body = '{"model":"m","seed":12345678901234567890}';
    const line = readLine(
      Buffer.from(`{"custom_id":"a","method":"POST","url":"/v1/embeddings","body":${body} }`),
    );
    expect([line.customId, line.prepared.kind]).toEqual(['a', 'embeddings']);
    expect(line.prepared.request()).toMatchObject({ text: body, value: { model: 'm' } });
  });

  it('rejects bytes that are not a line', () => {
    expect(() => readLine(Buffer.from('{"custom_id":"a"}'))).toThrow(TypeError);
    expect(() => readLine(Buffer.from('{"custom'))).toThrow(SyntaxError);
  });
});
