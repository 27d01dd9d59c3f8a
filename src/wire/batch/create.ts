import { omitNullish } from '../../base/fields.ts';
import type { BatchEndpoint, CreateBatch } from '../../core/batch.ts';
import { formatExactDuration, parseDuration } from '../../base/duration.ts';
import { ApiError, type Fault, invalid } from '../../core/errors.ts';
import { describe } from '../schema/explain.ts';
import { hasLoneSurrogate } from '../json/line-text.ts';
import { parseJson, readJson } from '../json/parse.ts';
import { type JsonSpan, findMember, scanJson } from '../json/scan.ts';
import { decodeUtf8 } from '../shared/utf8.ts';
import { faultsError, validator } from '../schema/validate.ts';
import { loneSurrogate, endpointFault } from './line.ts';
import { createBatchFrameSchema, metadataLimits } from './create-schema.ts';
import { type FrameScan, scanFrame } from './scan-frame.ts';

export interface CreateBatchRequest {
  input: CreateBatch;
  dryRun: boolean;
}

export interface RequestLimits {
  requests: number;
  /** Of the inline requests counted as JSON Lines. */
  bytes: number;
}

export interface CreateBatchLimits extends RequestLimits {
  /** Those that are open. */
  endpoints: readonly BatchEndpoint[];
  /** What a batch has, in milliseconds. */
  windowMs: number;
}

/** What all clients send, and what a batch has unless it is configured otherwise. */
const usualWindow = '24h';
/** So many bytes are looked at between two pauses. */
const pauseEvery = 131_072;
/** The body without its requests: an id, metadata and a few words. */
const frameBytes = 1 << 20;
/** The most that a request may have which is written on several lines. */
const spreadBytes = 8 << 20;

interface Frame {
  endpoint: string;
  completion_window: string;
  input_file_id?: string | null;
  requests?: [] | null;
  metadata?: Record<string, unknown> | null;
  output_expires_after?: { seconds: number } | null;
  dry_run?: boolean | null;
}

export const checkCreateBatch = validator(createBatchFrameSchema);
const openBracket = 0x5b;
const newline = 0x0a;
const carriageReturn = 0x0d;

/**
 * Reads the body of `POST /v1/batches`, in steps: it may be forty megabytes, and others want a turn. Inline requests are
 * cut out as bytes and never parsed here: the rules of a line see each one later.
 * @param bytes UTF-8
 * @throws ApiError `validation_error` and the other 422s with every fault found, `too_many_tasks`, `payload_too_large`
 */
export function* parseCreateBatch(
  bytes: Uint8Array,
  limits: CreateBatchLimits,
): Generator<undefined, CreateBatchRequest> {
  const { scan, value } = yield* readFrame(bytes, limits);
  const faults = checkCreateBatch(value);
  const frame = (value ?? {}) as Frame;
  const endpoint = limits.endpoints.find((name) => name === frame.endpoint);
  if (typeof frame.endpoint === 'string' && !endpoint)
    faults.unshift({
      param: 'endpoint',
      code: 'validation_error',
      message: endpointFault(frame.endpoint, limits.endpoints),
    });
  const model = faults.find(({ param }) => param === 'model');
  if (model) model.message = 'unknown field: each request names its model in its own body';
  const window = windowFault(frame.completion_window, limits.windowMs);
  if (window) faults.push(window);
  if (faults.length > 0) throw faultsError(faults);

  const metadata = readMetadata(bytes, scan, frame);
  const { input_file_id: fileId, requests, output_expires_after: expiry } = frame;
  const named = fileId ?? undefined;
  const inline = requests ? yield* readRequests(bytes, scan, limits) : undefined;
  if (named === undefined && inline === undefined)
    throw invalid('input_file_id', 'one of input_file_id and requests is required');
  if (named !== undefined && inline !== undefined)
    throw invalid('requests', 'input_file_id and requests cannot both be given');
  if (named?.includes('\0')) throw invalid('input_file_id', 'has a NUL character');
  return {
    dryRun: frame.dry_run === true,
    input: {
      endpoint: endpoint!,
      ...omitNullish({
        inputFileId: named,
        requests: inline,
        metadata,
        outputExpiresAfterSeconds: expiry?.seconds,
      }),
    },
  };
}

/** Clients can only say the usual one: it stands for what the configuration gives. */
function windowFault(asked: unknown, windowMs: number): Fault | undefined {
  if (typeof asked !== 'string' || asked === usualWindow || parseDuration(asked) === windowMs)
    return undefined;
  const known = [...new Set([usualWindow, formatExactDuration(windowMs)])].map((name) => `"${name}"`);
  const message = `expected ${known.join(' or ')}, got ${describe(asked)}`;
  return { param: 'completion_window', code: 'validation_error', message };
}

/**
 * The body around its requests, of which only the places are known then.
 * @throws ApiError as `parseCreateBatch`
 */
export function* readFrame(
  bytes: Uint8Array,
  limits: RequestLimits,
): Generator<undefined, { scan: FrameScan; value: unknown }> {
  const scan = yield* scanBody(bytes, limits);
  const span = findMember(scan, 'requests');
  const isList = span !== undefined && bytes[span.start] === openBracket;
  const text = isList ? `${textOf(bytes, 0, span.start)}[]${textOf(bytes, span.end)}` : textOf(bytes);
  return { scan, value: parseJson(text, { what: 'The request body' }).value };
}

function* scanBody(bytes: Uint8Array, limits: RequestLimits): Generator<undefined, FrameScan> {
  const scan = yield* scanFrame(bytes, limits.requests, pauseEvery);
  if (scan.tooDeep)
    throw new ApiError('too_deep', 'The request body has more than 64 levels of nesting in a request.');
  if (scan.tooMany)
    throw new ApiError('validation_error', 'The request body has an object with too many keys.');
  const { start = 0, end = 0 } = findMember(scan, 'requests') ?? {};
  const isSmall = bytes.length <= frameBytes;
  if (
    scan.closed &&
    (isSmall || (bytes[start] === openBracket && bytes.length - (end - start) <= frameBytes))
  )
    return scan;
  // Read again, it tells exactly what is wrong.
  if (isSmall) parseJson(textOf(bytes), { what: 'The request body', maxDepth: 66, maxNodes: Infinity });
  if (scan.closed)
    throw new ApiError(
      'validation_error',
      `The request body has more than ${frameBytes} bytes beside a list of requests.`,
    );
  throw new ApiError(
    'validation_error',
    'The request body is not valid JSON: a bracket or a string is not closed.',
  );
}

/** Of bytes that are known to be UTF-8. */
function textOf(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return decodeUtf8(bytes.subarray(start, end)) as string;
}

function readMetadata(bytes: Uint8Array, scan: FrameScan, frame: Frame): string | undefined {
  const span = findMember(scan, 'metadata');
  if (!span || !frame.metadata) return undefined;
  const size = span.end - span.start;
  if (size > metadataLimits.bytes)
    throw invalid('metadata', `expected at most ${metadataLimits.bytes} bytes of JSON, got ${size}`);
  const raw = textOf(bytes, span.start, span.end);
  if (scanJson(raw, { maxDepth: metadataLimits.levels }).limit)
    throw invalid('metadata', `expected at most ${metadataLimits.levels} levels of nesting`);
  if (hasLoneSurrogate(raw)) throw invalid('metadata', loneSurrogate);
  return raw;
}

/** Each request, on one line. */
export function* readRequests(
  bytes: Uint8Array,
  scan: FrameScan,
  limits: RequestLimits,
): Generator<undefined, Uint8Array[]> {
  if (scan.requestCount === 0) throw invalid('requests', 'must not be empty');
  if (scan.requestCount > limits.requests)
    throw invalid(
      'requests',
      `expected at most ${limits.requests} requests (limits.requests_per_batch), got ${scan.requestCount}`,
      'too_many_tasks',
    );
  const requests: Uint8Array[] = [];
  let total = 0;
  let sinceLast = 0;
  for (const [index, span] of scan.requests.entries()) {
    const request = oneLine(bytes, span, index);
    requests.push(request);
    total += request.length + 1;
    sinceLast += request.length;
    if (sinceLast < pauseEvery) continue;
    sinceLast = 0;
    yield;
  }
  if (total > limits.bytes)
    throw new ApiError(
      'payload_too_large',
      `The requests are more than ${limits.bytes} bytes as JSON Lines (limits.bytes_per_batch).`,
      {
        param: 'requests',
      },
    );
  return requests;
}

/** Line breaks between the tokens of a request become spaces; in a string they would be a fault that is told. */
function oneLine(bytes: Uint8Array, { start, end }: JsonSpan, index: number): Uint8Array {
  const place = `requests[${index}]`;
  if (start === end) throw invalid(place, 'a value is missing between two commas');
  const request = bytes.subarray(start, end);
  if (!request.includes(newline) && !request.includes(carriageReturn)) return request;
  if (request.length > spreadBytes)
    throw invalid(place, `longer than ${spreadBytes} bytes, on several lines`, 'line_too_long');
  const { problem } = readJson(textOf(request));
  if (problem) throw invalid(place, `not valid JSON: ${problem.message}`, 'invalid_json_line');
  return request.map((byte) => (byte === newline || byte === carriageReturn ? 0x20 : byte));
}
