import type { BatchEndpoint } from '../../core/batch.ts';
import { ApiError, invalid } from '../../core/errors.ts';
import { parseJson, readJson } from '../json/parse.ts';
import { memberOf, replaceMember, scanJson } from '../json/scan.ts';
import type { JsonScan } from '../json/scan.ts';
import { utf8Length } from '../utf8.ts';
import { faultsError, validator } from '../validate.ts';
import { createBatchFrameSchema, metadataLimits } from './create-schema.ts';

/** What is to be created; `CreateBatch` of `batches/` is the same. */
export interface CreateBatchInput {
  endpoint: BatchEndpoint;
  /** Exactly one of these two. `requests` holds each item's JSON text as it came, on one line. */
  inputFileId?: string;
  requests?: string[];
  /** JSON text of the metadata object, as it came. */
  metadata?: string;
  outputExpiresAfterSeconds?: number;
}

export interface CreateBatchRequest {
  input: CreateBatchInput;
  dryRun: boolean;
}

export interface CreateBatchLimits {
  requests: number;
  /** Of the inline requests counted as JSON Lines. */
  bytes: number;
}

const defaultLimits: CreateBatchLimits = { requests: 10_000, bytes: 33_554_432 };
/** The array and its object around requests that may have 64 levels each. */
const frameLevels = 66;
/** Up to here a body that is no JSON is read again to say exactly what is wrong. */
const explainedLength = 1 << 20;

interface Frame {
  endpoint: BatchEndpoint;
  input_file_id?: string | null;
  requests?: [] | null;
  metadata?: Record<string, unknown> | null;
  output_expires_after?: { seconds: number } | null;
  dry_run?: boolean | null;
}

const checkFrame = validator(createBatchFrameSchema);

/**
 * Reads the body of `POST /v1/batches`. Inline requests are cut out as text and never parsed here: the rules of a line
 * see each one later.
 * @throws ApiError `validation_error` and the other 422s with every fault found, `too_many_tasks`, `payload_too_large`
 */
export function parseCreateBatch(
  text: string,
  limits: CreateBatchLimits = defaultLimits,
): CreateBatchRequest {
  const scan = scanFrame(text, limits);
  const span = memberOf(scan, 'requests');
  const isList = span !== undefined && text[span.start] === '[';
  const frameText = isList ? replaceMember(text, scan, 'requests', '[]') : text;
  const frame = parseJson(frameText, { what: 'The request body' }).value as Frame;
  const faults = checkFrame(frame);
  if (faults.length > 0) throw faultsError(faults);

  const metadata = readMetadata(text, scan, frame);
  const { input_file_id: fileId, requests, output_expires_after: expiry } = frame;
  const named = fileId ?? undefined;
  const inline = requests ? readRequests(text, scan, limits) : undefined;
  if (named === undefined && inline === undefined)
    throw invalid('input_file_id', 'one of input_file_id and requests is required');
  if (named !== undefined && inline !== undefined)
    throw invalid('requests', 'input_file_id and requests cannot both be given');
  return {
    dryRun: frame.dry_run === true,
    input: {
      endpoint: frame.endpoint,
      ...(named !== undefined && { inputFileId: named }),
      ...(inline !== undefined && { requests: inline }),
      ...(metadata !== undefined && { metadata }),
      ...(expiry && { outputExpiresAfterSeconds: expiry.seconds }),
    },
  };
}

/** The values may be many: each request is bounded by itself. */
function scanFrame(text: string, limits: CreateBatchLimits): JsonScan {
  const options = { maxDepth: frameLevels, maxNodes: Infinity };
  const scan = scanJson(text, { ...options, elementsOf: 'requests', maxElements: limits.requests });
  if (scan.limit?.code === 'too_deep')
    throw new ApiError('too_deep', 'The request body has more than 64 levels of nesting in a request.');
  if (scan.limit)
    throw new ApiError('validation_error', 'The request body has an object with too many keys.');
  if (scan.closed) return scan;
  if (text.length <= explainedLength) parseJson(text, { what: 'The request body', ...options });
  throw new ApiError(
    'validation_error',
    'The request body is not valid JSON: a bracket or a string is not closed.',
  );
}

function readMetadata(text: string, scan: JsonScan, frame: Frame): string | undefined {
  const span = memberOf(scan, 'metadata');
  if (!span || !frame.metadata) return undefined;
  const raw = text.slice(span.start, span.end);
  const bytes = utf8Length(raw);
  if (bytes > metadataLimits.bytes)
    throw invalid('metadata', `expected at most ${metadataLimits.bytes} bytes of JSON, got ${bytes}`);
  if (scanJson(raw, { maxDepth: metadataLimits.levels }).limit)
    throw invalid('metadata', `expected at most ${metadataLimits.levels} levels of nesting`);
  return raw;
}

function readRequests(text: string, scan: JsonScan, limits: CreateBatchLimits): string[] {
  if (scan.elementCount === 0) throw invalid('requests', 'must not be empty');
  if (scan.elementCount > limits.requests)
    throw invalid(
      'requests',
      `expected at most ${limits.requests} requests, got ${scan.elementCount}`,
      'too_many_tasks',
    );
  const requests = scan.elements.map(({ start, end }, index) => oneLine(text.slice(start, end), index));
  // Three bytes a UTF-16 unit is the most there can be.
  const most = text.length * 3 + requests.length;
  if (most > limits.bytes && jsonlBytes(requests) > limits.bytes)
    throw new ApiError(
      'payload_too_large',
      `The requests are more than ${limits.bytes} bytes as JSON Lines.`,
      {
        param: 'requests',
      },
    );
  return requests;
}

/** Line breaks between the tokens of a request become spaces; in a string they would be a fault that is told. */
function oneLine(request: string, index: number): string {
  if (request === '') throw invalid(`requests[${index}]`, 'a value is missing between two commas');
  if (!request.includes('\n') && !request.includes('\r')) return request;
  const { problem } = readJson(request);
  if (problem) throw invalid(`requests[${index}]`, `not valid JSON: ${problem.message}`, 'invalid_json_line');
  return request.replaceAll(/[\n\r]/g, ' ');
}

function jsonlBytes(requests: string[]): number {
  let bytes = 0;
  for (const request of requests) bytes += utf8Length(request) + 1;
  return bytes;
}
