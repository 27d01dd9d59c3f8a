import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Service } from '../base/service.ts';
import type { CallTrace, CallTracer, SpanIds } from '../core/call-trace.ts';
import type { ModelConfig } from '../core/config.ts';
import { providerOf } from './providers.ts';
import { createExporter, type Post } from './exporter.ts';
import type { AttributeValue } from './span.ts';

export interface TracerDeps {
  /** Base URL of the collector; `/v1/traces` follows. */
  endpoint: string;
  headers: Record<string, string>;
  /** Share of requests and batch lines that are recorded, from 0 to 1. */
  sample: number;
  /** True if the flag of a client's `traceparent` decides whether its request is recorded. */
  parentBased: boolean;
  version: string;
  /** Current configuration of the models. */
  models: () => readonly ModelConfig[];
  clock: Clock;
  random: Random;
  log: Log;
  /** Replaces the HTTP client. */
  post?: Post;
}

/** Operations of the conventions for generative AI, by endpoint. */
const operations: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'chat',
  '/v1/messages': 'chat',
  '/v1/completions': 'text_completion',
  '/v1/embeddings': 'embeddings',
  // The conventions have no names for these.
  '/v1/rerank': 'rerank',
  '/v1/score': 'score',
  '/v1/moderations': 'moderations',
};

/**
 * Records requests, model calls and batches as spans of OpenTelemetry, with the conventions for HTTP and generative AI. Spans contain
 * no text of requests or answers. A batch is a trace of its own, to which the spans of its lines have links.
 */
export function createTracer(deps: TracerDeps): CallTracer & Service {
  const { endpoint, headers, sample, parentBased, version, models, clock, random, log } = deps;
  const isChosen = () => random.float() < sample;
  const newId = (bytes: number) => Buffer.from(random.bytes(bytes)).toString('hex');
  const resource = {
    'service.name': 'offpeak',
    'service.version': version,
    'service.instance.id': newId(16),
  };
  const post = deps.post ?? postTo(`${endpoint}/v1/traces`);
  const exporter = createExporter({ post, headers, resource, version, clock, random, log });

  /** Epoch milliseconds of a monotonic instant. */
  const atTime = (monotonic: number) => clock.now() - (clock.monotonic() - monotonic);

  function callAttributes(endpointOf: string, trace: CallTrace, code: string | undefined) {
    const { model, server, answerId, billed, queuedMs, firstOutputMs, calls, serversAsked, isStream } = trace;
    return {
      'gen_ai.operation.name': operations[endpointOf] ?? 'chat',
      'gen_ai.provider.name': (model !== undefined && providerOf(models(), model)) || 'unknown',
      'gen_ai.request.model': model,
      'gen_ai.request.stream': isStream,
      'gen_ai.response.id': answerId,
      'gen_ai.response.time_to_first_chunk': isStream ? toSeconds(firstOutputMs) : undefined,
      'gen_ai.usage.input_tokens': billed?.inputTokens,
      'gen_ai.usage.output_tokens': billed?.outputTokens,
      'gen_ai.usage.cache_read.input_tokens': billed?.cachedTokens || undefined,
      'gen_ai.usage.cache_write.input_tokens': billed?.cacheWriteTokens || undefined,
      'gen_ai.usage.reasoning.output_tokens': billed?.reasoningTokens || undefined,
      ...addressOf(server),
      'error.type': code,
      'offpeak.queue.duration': toSeconds(queuedMs),
      'offpeak.calls': calls,
      'offpeak.servers_asked': serversAsked,
    } satisfies Record<string, AttributeValue>;
  }

  const callName = (endpointOf: string, { model }: CallTrace) =>
    [operations[endpointOf] ?? 'chat', model].join(' ');

  return {
    beginRequest(traceparent) {
      const parent = readTraceparent(traceparent);
      const traceId = parent?.traceId ?? newId(16);
      return {
        traceId,
        callId: newId(8),
        requestId: newId(8),
        ...(parent && { parentId: parent.spanId }),
        // By default neither the trace id nor the flag decides: the client chose both.
        isSampled: parentBased && parent ? parent.isSampled : isChosen(),
      };
    },

    beginLine(): SpanIds {
      const traceId = newId(16);
      return { traceId, callId: newId(8), isSampled: isChosen() };
    },

    endRequest({ requestId, caller, method, route, endpoint: called, status, startedAt, ms, code, trace }) {
      const ids = trace.span;
      const orgId = caller?.orgId;
      // Requests without a key, of which anyone can send many, are not recorded.
      if (!ids?.isSampled || ids.requestId === undefined || !orgId) return;
      const endedAt = startedAt + ms;
      const isFault = status >= 500;
      const org = { 'offpeak.org.id': orgId, 'offpeak.request.id': requestId };
      exporter.add({
        traceId: ids.traceId,
        spanId: ids.requestId,
        parentId: ids.parentId,
        name: `${method} ${route}`,
        kind: 'server',
        startedAt,
        endedAt,
        attributes: {
          'http.request.method': method,
          'http.route': route,
          'http.response.status_code': status,
          'error.type': isFault ? (code ?? String(status)) : undefined,
          ...org,
        },
        isError: isFault,
      });
      if (trace.begunAt === undefined) return;
      exporter.add({
        traceId: ids.traceId,
        spanId: ids.callId,
        parentId: ids.requestId,
        name: callName(called, trace),
        kind: 'client',
        startedAt: atTime(trace.begunAt),
        endedAt,
        attributes: { ...callAttributes(called, trace, code), ...org },
        isError: code !== undefined,
      });
    },

    endLine({ batchId, orgId, endpoint: endpointOf, line, attempt, code, trace }) {
      const ids = trace.span;
      if (!ids?.isSampled || trace.begunAt === undefined) return;
      exporter.add({
        traceId: ids.traceId,
        spanId: ids.callId,
        name: callName(endpointOf, trace),
        kind: 'client',
        startedAt: atTime(trace.begunAt),
        endedAt: clock.now(),
        attributes: {
          ...callAttributes(endpointOf, trace, code),
          'offpeak.org.id': orgId,
          'offpeak.batch.id': batchId,
          'offpeak.batch.line': line,
          'offpeak.batch.attempt': attempt,
        },
        isError: code !== undefined,
        link: batchSpan(batchId),
      });
    },

    endBatch({ id, orgId, endpoint: endpointOf, status, total, createdAt, endedAt }) {
      const isError = status === 'failed' || status === 'expired';
      exporter.add({
        ...batchSpan(id),
        name: 'batch',
        kind: 'internal',
        startedAt: createdAt,
        endedAt,
        attributes: {
          'offpeak.org.id': orgId,
          'offpeak.batch.id': id,
          'offpeak.batch.endpoint': endpointOf,
          'offpeak.batch.status': status,
          'offpeak.batch.requests': total,
          'error.type': isError ? `batch_${status}` : undefined,
        },
        isError,
      });
    },

    start: () => exporter.start(),
    stop: () => exporter.stop(),
  };
}

/** Ids of the span of a batch: every process that runs its lines knows them. */
function batchSpan(batchId: string): { traceId: string; spanId: string } {
  const hash = createHash('sha256').update(batchId).digest('hex');
  return { traceId: hash.slice(0, 32), spanId: hash.slice(32, 48) };
}

/** Parses the header of W3C Trace Context; undefined for an absent or invalid one. */
function readTraceparent(header: string | undefined) {
  const match = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:-|$)/.exec(
    header ?? '',
  );
  if (!match) return undefined;
  return { traceId: match[1]!, spanId: match[2]!, isSampled: (parseInt(match[3]!, 16) & 1) === 1 };
}

/** Host and port of a server's name, such as `10.0.0.5:8000/v1`; none for an engine in this process. */
function addressOf(server: string | undefined): Record<string, AttributeValue> {
  const match = /^(\[[^\]]+\]|[^/:]+)(?=[:/])(?::(\d+))?(?:\/|$)/.exec(server ?? '');
  if (!match) return {};
  return {
    'server.address': match[1]!,
    'server.port': match[2] === undefined ? undefined : Number(match[2]),
  };
}

function toSeconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000;
}

/** HTTP client, loaded with the first spans. */
function postTo(url: string): Post {
  return async (headers, body, signal) => {
    const { request } = await import('undici');
    const answer = await request(url, { method: 'POST', headers, body, signal });
    const text = await answer.body.text();
    const retryAfter = answer.headers['retry-after'];
    return {
      status: answer.statusCode,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
      text,
    };
  };
}
