import { afterEach, expect, it } from 'vitest';
import { startApp, testModel, upstreamEngine, type RunningApp } from '../support/app.ts';
import { chatLine } from '../support/batch-lines.ts';
import { complete, send, startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.ts';
import { startCollector, type Span } from '../support/trace-collector.ts';

// Traces of a whole server, at a collector that receives OTLP over HTTP.

let app: RunningApp;
let upstream: FakeUpstream;
let collector: Awaited<ReturnType<typeof startCollector>>;

afterEach(async () => {
  await app?.stop();
  await upstream?.close();
  await collector?.close();
});

const attributesOf = ({ attributes }: Span) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

it('requests, the calls of the upstream, and batches with their lines', async () => {
  collector = await startCollector();
  upstream = await startFakeUpstream((response, request) =>
    request.text.includes('bad')
      ? send(response, 400, { error: { message: 'secret-error' } })
      : complete('secret-answer')(response, request),
  );
  app = await startApp({
    models: [testModel(upstreamEngine(upstream.url, 4))],
    tracing: {
      endpoint: collector.url,
      headers: { authorization: 'Bearer of the collector' },
      sample: 1,
      parentBased: false,
    },
  });
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  await app.api.send('/v1/chat/completions', {
    json: { model: 'tiny', messages: [{ role: 'user', content: 'secret-prompt' }], user: 'secret-user' },
    headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
  });
  await app.api.send('/v1/secret-path');
  const { id } = await app.api.createBatch({
    requests: [chatLine('secret-id', 'secret-line'), chatLine('b', 'bad')],
  });
  await app.api.finished(id);
  await app.stop();

  for (const { path, headers } of collector.requests) {
    expect(path).toBe('/v1/traces');
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      authorization: 'Bearer of the collector',
    });
  }
  const texts = collector.requests.map(({ text }) => text).join('\n');
  expect(texts).not.toMatch(/secret|test-key/);

  const spans = collector.spans();
  const request = spans.find(({ name }) => name === 'POST /v1/chat/completions')!;
  expect(request).toMatchObject({ traceId, parentSpanId: 'b7ad6b7169203331', kind: 2 });
  const call = spans.find(({ parentSpanId }) => parentSpanId === request.spanId)!;
  expect(call).toMatchObject({ traceId, name: 'chat tiny', kind: 3 });
  expect(attributesOf(call)).toMatchObject({
    'gen_ai.provider.name': 'openai',
    'gen_ai.usage.input_tokens': '9',
    'server.address': '127.0.0.1',
    'server.port': String(upstream.port),
  });

  const batch = spans.find(({ name }) => name === 'batch')!;
  expect(attributesOf(batch)).toMatchObject({ 'offpeak.batch.id': id, 'offpeak.batch.status': 'completed' });
  const lines = spans.filter(({ links }) => links !== undefined);
  expect(new Set(lines.map((line) => attributesOf(line)['offpeak.batch.line']))).toEqual(new Set(['0', '1']));
  expect(lines).toHaveLength(2);
  for (const { links } of lines) expect(links).toEqual([{ traceId: batch.traceId, spanId: batch.spanId }]);

  // Each request to the upstream names the span of its call.
  const named = upstream.received.flatMap(({ headers }) => headers['traceparent'] ?? []);
  expect(named.toSorted()).toEqual(
    [call, ...lines].map((span) => `00-${span.traceId}-${span.spanId}-01`).toSorted(),
  );
});

it('nothing without the configuration, not even the header to the upstream', async () => {
  upstream = await startFakeUpstream();
  app = await startApp({ models: [testModel(upstreamEngine(upstream.url, 4))] });
  await app.api.send('/v1/chat/completions', {
    json: { model: 'tiny', messages: [{ role: 'user', content: 'Hello?' }] },
    headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
  });
  expect(upstream.received).toHaveLength(1);
  expect(upstream.received[0]!.headers).not.toHaveProperty('traceparent');
});
