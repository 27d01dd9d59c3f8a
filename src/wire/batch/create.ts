import { isObject, omitNullish } from '../../base/fields.ts';
import { type BatchRules, type CreateBatch, endpointOf } from '../../core/batch.ts';
import type { BatchWindows } from '../../core/batch-window.ts';
import { ApiError, invalid } from '../../core/errors.ts';
import { hasLoneSurrogate } from '../json/line-text.ts';
import { parseJson, readJson } from '../json/parse.ts';
import { type JsonSpan, findMember, scanJson } from '../json/scan.ts';
import { decodeUtf8 } from '../shared/utf8.ts';
import { faultsError, validator } from '../schema/validate.ts';
import { loneSurrogate, endpointFault } from './line-faults.ts';
import { createBatchFrameSchema, metadataLimits } from './create-schema.ts';
import { type FrameScan, scanFrame } from './scan-frame.ts';
import { readWindow } from './window.ts';

/** Limits of inline requests. */
export type RequestLimits = Pick<BatchRules, 'requests' | 'inlineBytes'>;

export interface CreateBatchOptions {
  /** Offered windows. */
  windows: BatchWindows;
  /** True to ignore a field `model`, which some clients send. */
  ignoresModel?: boolean | undefined;
}

/** Bytes processed between two pauses. */
const pauseEvery = 131_072;
/** Limit of the body without its requests. */
const frameBytes = 1 << 20;
/** Limit of a request that spans several lines. */
const multilineBytes = 8 << 20;

interface Frame {
  endpoint: string;
  completion_window: string;
  input_file_id?: string | null;
  requests?: [] | null;
  metadata?: Record<string, unknown> | null;
  output_expires_after?: { seconds: number } | null;
  priority?: number | null;
  strict_fields?: boolean | null;
  dry_run?: boolean | null;
}

export const checkCreateBatch = validator(createBatchFrameSchema);
const openBracket = 0x5b;
const newline = 0x0a;
const carriageReturn = 0x0d;

/**
 * Reads the body of `POST /v1/batches` in steps, because it may have forty megabytes. Inline requests are cut out as bytes
 * and not parsed; each is checked as a line later.
 * @param bytes UTF-8
 * @throws ApiError `validation_error` and the other 422s with every fault found, `too_many_tasks`, `payload_too_large`
 */
export function* parseCreateBatch(
  bytes: Uint8Array,
  rules: BatchRules,
  { windows, ignoresModel = false }: CreateBatchOptions,
): Generator<undefined, { input: CreateBatch; dryRun: boolean }> {
  const { scan, value } = yield* readFrame(bytes, rules);
  if (ignoresModel && isObject(value)) delete value['model'];
  const faults = checkCreateBatch(value);
  const frame = (value ?? {}) as Frame;
  const named = rules.anyPrefix ? endpointOf(frame.endpoint) : frame.endpoint;
  const endpoint = rules.endpoints.find((name) => name === named);
  if (typeof frame.endpoint === 'string' && !endpoint)
    faults.unshift({
      param: 'endpoint',
      code: 'validation_error',
      message: endpointFault(frame.endpoint, rules.endpoints),
    });
  const model = faults.find(({ param }) => param === 'model');
  if (model) model.message = 'unknown field: set the model in the body of each request';
  const { window, fault } = readWindow(frame.completion_window, windows);
  if (fault) faults.push(fault);
  if (faults.length > 0) throw faultsError(faults);

  const metadata = readMetadata(bytes, scan, frame);
  const inputFileId = frame.input_file_id ?? undefined;
  const requests = frame.requests ? yield* readRequests(bytes, scan, rules) : undefined;
  if (inputFileId === undefined && requests === undefined)
    throw invalid('input_file_id', 'one of input_file_id and requests is required');
  if (inputFileId !== undefined && requests !== undefined)
    throw invalid('requests', 'cannot be combined with input_file_id');
  if (inputFileId?.includes('\0')) throw invalid('input_file_id', 'has a NUL character');
  const outputExpiresAfterSeconds = frame.output_expires_after?.seconds;
  const { priority, strict_fields: isStrict } = frame;
  const given = omitNullish({
    inputFileId,
    requests,
    metadata,
    outputExpiresAfterSeconds,
    priority,
    isStrict,
    window,
  });
  return { input: { endpoint: endpoint!, ...given }, dryRun: frame.dry_run === true };
}

/** Parses the body around its requests, and finds their positions. @throws ApiError as `parseCreateBatch` */
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
  // Parsed again for an exact message.
  if (isSmall) parseJson(textOf(bytes), { what: 'The request body', maxDepth: 66, maxNodes: Infinity });
  const fault = scan.closed
    ? `has more than ${frameBytes} bytes outside its list of requests`
    : 'is invalid JSON: a bracket or a string is not closed';
  throw new ApiError('validation_error', `The request body ${fault}.`);
}

/** Decodes bytes that are known to be UTF-8. */
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

/** Requests, each on one line. */
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
  if (total > limits.inlineBytes)
    throw new ApiError(
      'payload_too_large',
      `The requests have more than ${limits.inlineBytes} bytes as JSON Lines. Upload them as a file.`,
      { param: 'requests' },
    );
  return requests;
}

/** Replaces line breaks between tokens by spaces; in a string they are a fault. */
function oneLine(bytes: Uint8Array, { start, end }: JsonSpan, index: number): Uint8Array {
  const path = `requests[${index}]`;
  if (start === end) throw invalid(path, 'a value is missing between two commas');
  const request = bytes.subarray(start, end);
  if (!request.includes(newline) && !request.includes(carriageReturn)) return request;
  if (request.length > multilineBytes)
    throw invalid(path, `expected at most ${multilineBytes} bytes on several lines`, 'line_too_long');
  const { problem } = readJson(textOf(request));
  if (problem) throw invalid(path, `invalid JSON: ${problem.message}`, 'invalid_json_line');
  return request.map((byte) => (byte === newline || byte === carriageReturn ? 0x20 : byte));
}
