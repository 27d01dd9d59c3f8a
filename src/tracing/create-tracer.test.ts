import { gunzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { silent } from '../base/log.ts';
import { systemRandom } from '../base/system.ts';
import type { AnsweredCall, CallTrace } from '../core/call-trace.ts';
import type { ModelConfig } from '../core/config.ts';
import { createTracer, type TracerDeps } from './create-tracer.ts';

interface SentSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  status: { code?: number };
  links?: { traceId: string; spanId: string }[];
}

let clock: ManualClock;
let bodies: string[];

const models = [{ id: 'tiny', engine: { kind: 'openai', flavor: 'vllm' } }] as unknown as ModelConfig[];

function create(more: Partial<TracerDeps> = {}) {
  return createTracer({
    endpoint: 'http://collector:4318',
    headers: {},
    sample: 1,
    parentBased: false,
    version: '1.2.3',
    models: () => models,
    clock,
    random: systemRandom,
    log: silent,
    post: (_headers, body) => {
      bodies.push(gunzipSync(body).toString());
      return Promise.resolve({ status: 200, retryAfter: undefined, text: '' });
    },
    ...more,
  });
}

async function spansOf(tracer: ReturnType<typeof create>): Promise<SentSpan[]> {
  await tracer.stop();
  return bodies.flatMap((body) => JSON.parse(body).resourceSpans[0].scopeSpans[0].spans as SentSpan[]);
}

const attributesOf = ({ attributes }: SentSpan) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

const called = (more: CallTrace): CallTrace => ({
  model: 'tiny',
  server: '10.0.0.5:8000/v1',
  begunAt: clock.monotonic(),
  queuedMs: 250,
  firstOutputMs: 1_500,
  answerId: 'chatcmpl-1',
  isStream: true,
  calls: 1,
  serversAsked: 1,
  billed: { inputTokens: 9, cachedTokens: 4, cacheWriteTokens: 2, outputTokens: 3, reasoningTokens: 0 },
  ...more,
});
const answered = (trace: CallTrace, more: Partial<AnsweredCall> = {}): AnsweredCall => ({
  requestId: 'req_1',
  caller: { orgId: 'org_1', keyId: 'key_1' },
  method: 'POST',
  route: '/v1/chat/completions',
  endpoint: '/v1/chat/completions',
  status: 200,
  startedAt: clock.now() - 2_000,
  ms: 2_000,
  code: undefined,
  trace,
  ...more,
});
const parent = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

beforeEach(() => {
  clock = createManualClock();
  bodies = [];
});

describe('a request', () => {
  it('is a span of the trace of its client, with the model call below it', async () => {
    const tracer = create();
    const span = tracer.beginRequest(`00-${parent.traceId}-${parent.spanId}-01`);
    const trace = called({ span });
    await clock.advance(1_900);
    tracer.endRequest(answered(trace));
    const [request, call] = await spansOf(tracer);
    expect(request).toMatchObject({
      traceId: parent.traceId,
      parentSpanId: parent.spanId,
      name: 'POST /v1/chat/completions',
      kind: 2,
      status: {},
    });
    expect(attributesOf(request!)).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': '200',
      'offpeak.org.id': 'org_1',
      'offpeak.request.id': 'req_1',
    });
    expect(call).toMatchObject({
      traceId: parent.traceId,
      spanId: span.callId,
      parentSpanId: request!.spanId,
      name: 'chat tiny',
      kind: 3,
    });
    expect(attributesOf(call!)).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'vllm',
      'gen_ai.request.model': 'tiny',
      'gen_ai.request.stream': true,
      'gen_ai.response.id': 'chatcmpl-1',
      'gen_ai.response.time_to_first_chunk': 1.5,
      'gen_ai.usage.input_tokens': '9',
      'gen_ai.usage.output_tokens': '3',
      'gen_ai.usage.cache_read.input_tokens': '4',
      'gen_ai.usage.cache_write.input_tokens': '2',
      'server.address': '10.0.0.5',
      'server.port': '8000',
      'offpeak.queue.duration': 0.25,
      'offpeak.calls': '1',
      'offpeak.servers_asked': '1',
      'offpeak.org.id': 'org_1',
      'offpeak.request.id': 'req_1',
    });
    const nanos = (name: 'startTimeUnixNano' | 'endTimeUnixNano') =>
      [request!, call!].map((each) => each[name]);
    expect(nanos('startTimeUnixNano')).toEqual([
      `${clock.now() - 2_000}000000`,
      `${clock.now() - 1_900}000000`,
    ]);
    expect(nanos('endTimeUnixNano')).toEqual([`${clock.now()}000000`, `${clock.now()}000000`]);
  });

  it.each([
    ['none', undefined],
    ['of another form', `${parent.traceId}-${parent.spanId}`],
    ['with an empty trace', `00-${'0'.repeat(32)}-${parent.spanId}-01`],
    ['with an empty span', `00-${parent.traceId}-${'0'.repeat(16)}-01`],
    ['of the forbidden version', `ff-${parent.traceId}-${parent.spanId}-01`],
    ['in capitals', `00-${parent.traceId.toUpperCase()}-${parent.spanId}-01`],
  ])('begins a trace of its own where the client sends no valid one: %s', async (_, header) => {
    const tracer = create();
    tracer.endRequest(answered({ span: tracer.beginRequest(header) }));
    const [request] = await spansOf(tracer);
    expect(request!.traceId).toMatch(/^[\da-f]{32}$/);
    expect(request!.traceId).not.toBe(parent.traceId);
    expect(request).not.toHaveProperty('parentSpanId');
  });

  it('that failed on our side is an error; one that was refused is not', async () => {
    const tracer = create();
    const ended = (status: number, code: string) => {
      const trace = called({ span: tracer.beginRequest(undefined) });
      tracer.endRequest(answered(trace, { status, code }));
    };
    ended(502, 'upstream_error');
    ended(422, 'validation_error');
    const found = (await spansOf(tracer)).map((span) => [
      span.kind,
      span.status.code,
      attributesOf(span)['error.type'],
    ]);
    expect(found).toEqual([
      [2, 2, 'upstream_error'],
      [3, 2, 'upstream_error'],
      [2, undefined, undefined],
      [3, 2, 'validation_error'],
    ]);
  });

  it('without a key is not recorded', async () => {
    const tracer = create();
    tracer.endRequest(answered({ span: tracer.beginRequest(undefined) }, { caller: undefined }));
    expect(await spansOf(tracer)).toEqual([]);
  });

  const withFlag = (flag: '00' | '01', traceId = parent.traceId) => `00-${traceId}-${parent.spanId}-${flag}`;

  it.each(['0', '8', 'f'])(
    'is recorded for the configured share, whatever its client sends: trace ids of %s',
    (digit) => {
      const share = (sample: number, flag: '00' | '01') => {
        const tracer = create({ sample });
        const header = withFlag(flag, digit.repeat(31) + '1');
        const begun = Array.from({ length: 4_000 }, () => tracer.beginRequest(header));
        return begun.filter(({ isSampled }) => isSampled).length / 4_000;
      };
      expect([share(0, '01'), share(1, '00')]).toEqual([0, 1]);
      for (const flag of ['00', '01'] as const) {
        expect(share(0.25, flag)).toBeGreaterThan(0.2);
        expect(share(0.25, flag)).toBeLessThan(0.3);
      }
    },
  );

  it('follows the flag of its client if that is configured', () => {
    const sampled = (sample: number, header: string | undefined) =>
      create({ sample, parentBased: true }).beginRequest(header).isSampled;
    expect([sampled(1, withFlag('00')), sampled(0, withFlag('01'))]).toEqual([false, true]);
    expect([sampled(1, undefined), sampled(0, undefined)]).toEqual([true, false]);
  });

  it('is recorded for the configured share of traces', async () => {
    const tracer = create({ sample: 0.25 });
    const chosen = Array.from({ length: 4_000 }, () => tracer.beginLine()).filter(
      ({ isSampled }) => isSampled,
    );
    expect(chosen.length / 4_000).toBeGreaterThan(0.2);
    expect(chosen.length / 4_000).toBeLessThan(0.3);
  });
});

describe('a batch', () => {
  it('is a trace of its own, to which its lines are linked in every process', async () => {
    const [first, second] = [create(), create()];
    const line = { batchId: 'batch_1', orgId: 'org_1', endpoint: '/v1/embeddings', line: 7, attempt: 2 };
    first.endLine({ ...line, code: undefined, trace: called({ span: first.beginLine() }) });
    second.endLine({ ...line, code: 'upstream_timeout', trace: called({ span: second.beginLine() }) });
    second.endBatch({
      id: 'batch_1',
      orgId: 'org_1',
      endpoint: '/v1/embeddings',
      status: 'expired',
      total: 10,
      createdAt: 1_000,
      endedAt: 5_000,
    });
    await first.stop();
    const [good, bad, batch] = await spansOf(second);
    for (const span of [good!, bad!]) {
      expect(span.links).toEqual([{ traceId: batch!.traceId, spanId: batch!.spanId }]);
      expect(span.name).toBe('embeddings tiny');
      expect(attributesOf(span)).toMatchObject({ 'offpeak.batch.id': 'batch_1', 'offpeak.batch.line': '7' });
    }
    expect(new Set([good, bad, batch].map((span) => span!.traceId)).size).toBe(3);
    expect(attributesOf(bad!)['error.type']).toBe('upstream_timeout');
    expect(batch).toMatchObject({
      name: 'batch',
      kind: 1,
      startTimeUnixNano: '1000000000',
      endTimeUnixNano: '5000000000',
      status: { code: 2 },
    });
    expect(attributesOf(batch!)).toMatchObject({
      'offpeak.batch.status': 'expired',
      'error.type': 'batch_expired',
    });
  });
});
