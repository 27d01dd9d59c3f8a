import { toBinaryString } from '../../base/byte-text.ts';
import type { Fault } from '../../core/errors.ts';
import { type JsonMember, scanJson } from '../json/scan.ts';
import { readFrame, readRequests, type RequestLimits } from '../batch/create.ts';
import { joinPath } from '../schema/explain.ts';
import { mapErrorPaths } from '../shared/path-map.ts';
import { decodeUtf8 } from '../shared/utf8.ts';
import { faultsError, maxFaults, validator } from '../schema/validate.ts';
import { frameSchema } from './schemas.ts';

export const checkCreateMessageBatch = validator(frameSchema);
/** Bytes converted to lines between two pauses. */
const pauseEvery = 131_072;

/**
 * Reads the body of `POST /v1/messages/batches` in steps. Each request becomes a batch line for `/v1/messages` with its
 * values as received; the lines are checked later.
 * @param bytes UTF-8
 * @throws ApiError `validation_error` and the other 422s, `too_many_tasks`, `payload_too_large`
 */
export function* parseCreateMessageBatch(
  bytes: Uint8Array,
  limits: RequestLimits,
): Generator<undefined, Uint8Array[]> {
  const { scan, value } = yield* readFrame(bytes, limits);
  const misshapen = checkCreateMessageBatch(value);
  if (misshapen.length > 0) throw faultsError(misshapen);
  const requests = yield* readRequests(bytes, scan, limits);
  const faults: Fault[] = [];
  const lines: Uint8Array[] = [];
  let sinceLast = 0;
  for (const [index, request] of requests.entries()) {
    const { inside, members } = scanJson(toBinaryString(request));
    if (!members.every(isKnown)) faults.push(...unknownFields(request, index, maxFaults - faults.length));
    // A request that is not an object is rejected when the lines are checked.
    lines.push(inside < 0 ? request : lineOf(request, members));
    sinceLast += request.length;
    if (sinceLast < pauseEvery) continue;
    sinceLast = 0;
    yield;
  }
  if (faults.length > 0) throw faultsError(faults);
  return lines;
}

const encoder = new TextEncoder();
const begin = encoder.encode('{"method":"POST","url":"/v1/messages"');
const end = encoder.encode('}');
/** Members of a request as members of a line. */
const fields: Readonly<Record<string, Uint8Array>> = {
  custom_id: encoder.encode(',"custom_id":'),
  params: encoder.encode(',"body":'),
};

function isKnown({ name }: JsonMember): boolean {
  return Object.hasOwn(fields, name);
}

function unknownFields(request: Uint8Array, index: number, max: number): Fault[] {
  const { members } = scanJson(decodeUtf8(request) as string);
  const unknown = members.filter((member) => !isKnown(member)).slice(0, max);
  return unknown.map(({ name }) => ({
    param: joinPath(`requests[${index}]`, name),
    code: 'validation_error',
    message: 'unknown field; a request has custom_id and params',
  }));
}

/** @param members with byte positions; unknown ones are left out, because the request is rejected anyway */
function lineOf(request: Uint8Array, members: readonly JsonMember[]): Uint8Array {
  const values = members
    .filter(isKnown)
    .flatMap(({ name, start, end: to }) => [fields[name]!, request.subarray(start, to)]);
  return joined([begin, ...values, end]);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Maps the paths in an error of the lines to those of the requests. */
export function mapToRequests(error: unknown): unknown {
  return mapErrorPaths(error, (path) => path.replace(/^(requests\[\d+\])\.body(?=\W|$)/, '$1.params'));
}
