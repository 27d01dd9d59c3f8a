import type { Fault } from '../../core/errors.ts';
import { type JsonMember, scanJson } from '../json/scan.ts';
import { readFrame, readRequests, type RequestLimits } from '../batch/create.ts';
import { joinPath } from '../explain.ts';
import { retoldError } from '../places.ts';
import { decodeUtf8 } from '../utf8.ts';
import { faultsError, maxFaults, validator } from '../validate.ts';
import { frameSchema } from './schemas.ts';

const checkFrame = validator(frameSchema);
const encoder = new TextEncoder();
/** So many bytes are made into lines between two pauses. */
const pauseEvery = 131_072;

/**
 * Reads the body of `POST /v1/messages/batches`, in steps: each request becomes a line of a batch of `/v1/messages`, its
 * values as they came. The rules of a line see it later.
 * @param bytes UTF-8
 * @throws ApiError `validation_error` and the other 422s, `too_many_tasks`, `payload_too_large`
 */
export function* parseCreateMessageBatch(
  bytes: Uint8Array,
  limits: RequestLimits,
): Generator<undefined, Uint8Array[]> {
  const { scan, value } = yield* readFrame(bytes, limits);
  const misshapen = checkFrame(value);
  if (misshapen.length > 0) throw faultsError(misshapen);
  const requests = yield* readRequests(bytes, scan, limits);
  const faults: Fault[] = [];
  const lines: Uint8Array[] = [];
  let sinceLast = 0;
  for (const [index, request] of requests.entries()) {
    const text = decodeUtf8(request) as string;
    const { inside, members } = scanJson(text);
    for (const { name } of members)
      if (!Object.hasOwn(places, name) && faults.length < maxFaults)
        faults.push({
          param: joinPath(`requests[${index}]`, name),
          code: 'validation_error',
          message: 'unknown field; a request has custom_id and params',
        });
    // What is no object is told of by the rules of a line.
    lines.push(inside < 0 ? request : encoder.encode(lineOf(text, members)));
    sinceLast += request.length;
    if (sinceLast < pauseEvery) continue;
    sinceLast = 0;
    yield;
  }
  if (faults.length > 0) throw faultsError(faults);
  return lines;
}

/** What the fields of a request are in a line. */
const places: Readonly<Record<string, string>> = { custom_id: 'custom_id', params: 'body' };

function lineOf(text: string, members: readonly JsonMember[]): string {
  const fields = members.map(({ name, start, end }) => `"${places[name]}":${text.slice(start, end)}`);
  return `{${['"method":"POST"', '"url":"/v1/messages"', ...fields].join(',')}}`;
}

/** An error about the lines, in the places of the requests. */
export function inRequests(error: unknown): unknown {
  return retoldError(error, (param) => param.replace(/^(requests\[\d+\])\.body(?=\W|$)/, '$1.params'));
}
