import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../../../core/errors.ts';
import { type Fields, isObject } from '../../../base/fields.ts';
import type { Repairs } from './repairs.ts';
import { errorForStatus, type RefusalContext } from './status-errors.ts';
import { errorInStream } from './stream-errors.ts';
import type { Reply } from './replies.ts';

/**
 * The JSON object of a reply, whatever its content type says.
 * @throws ApiError what the status means; `invalid_upstream_response` for anything that is not a JSON object; the error
 * that a body with status 200 carries (reliability.md, F28 and F29)
 */
export function parseBody(reply: Reply<Buffer>, context: RefusalContext, repairs: Repairs): Fields {
  if (reply.status < 200 || reply.status >= 300) {
    const text = packing(reply.headers) === null ? reply.body.toString() : '';
    throw errorForStatus({ ...reply, text }, context);
  }
  requirePlain(reply.headers);
  if (!isUtf8(reply.body)) repairs.add('text was not Unicode');
  const fields = parseObject(reply.body.toString());
  throwIfError(fields, context);
  return fields;
}

/** Nothing compressed was asked for; unpacking what came all the same is how a small answer becomes a huge one. */
export function requirePlain(headers: IncomingHttpHeaders): void {
  const encoding = packing(headers);
  if (encoding !== null) throw unusable(`is compressed (${encoding}), which was not asked for`);
}

function packing({ 'content-encoding': encoding }: IncomingHttpHeaders): string | null {
  return encoding && encoding !== 'identity' ? encoding : null;
}

export function parseObject(text: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const trimmed = text.trimStart();
    if (trimmed === '') throw unusable('is empty');
    throw unusable(trimmed.startsWith('<') ? 'is an HTML page' : 'is not JSON');
  }
  if (!isObject(value)) throw unusable('is not a JSON object');
  return value;
}

/** An error under status 200 means what it says itself, or a failure that may pass. */
export function throwIfError(fields: Fields, context: RefusalContext): void {
  const { error } = fields;
  if (
    error === undefined ||
    error === null ||
    (Array.isArray(fields['choices']) && fields['choices'].length > 0)
  )
    return;
  throw errorInStream(fields, context);
}

export function unusable(why: string): ApiError {
  return new ApiError('invalid_upstream_response', `The answer of the model's server ${why}.`);
}
