import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { type Fields, fieldsOf, isObject, stringOr } from '../../../base/fields.ts';
import { ApiError } from '../../../core/errors.ts';
import type { Repairs } from './repairs.ts';
import type { Reply } from './replies.ts';
import { errorForStatus, type RefusalContext } from './status-errors.ts';

/**
 * JSON object of a reply of any type.
 * @param listName member of the object that stands for a list; lists are refused if absent
 * @throws ApiError for an error status or body (F28, F29) or any other content
 */
export function parseBody(
  reply: Reply<Buffer>,
  context: RefusalContext,
  repairs: Repairs,
  listName?: string,
): Fields {
  if (reply.status < 200 || reply.status >= 300) {
    const text = compression(reply.headers) === null ? reply.body.toString() : '';
    throw errorForStatus({ ...reply, text }, context);
  }
  requireUncompressed(reply.headers);
  if (!isUtf8(reply.body)) repairs.add('text was not Unicode');
  const fields = parseObject(reply.body.toString(), listName);
  throwIfError(fields, context);
  return fields;
}

/** Rejects compressed replies: they were not requested, and a small one may unpack to a huge one. */
export function requireUncompressed(headers: IncomingHttpHeaders): void {
  const encoding = compression(headers);
  if (encoding !== null) throw unusable(`is compressed (${encoding}), which was not requested`);
}

function compression({ 'content-encoding': encoding }: IncomingHttpHeaders): string | null {
  return encoding && encoding !== 'identity' ? encoding : null;
}

/** @throws ApiError `invalid_upstream_response` for text that is not a JSON object */
export function parseObject(text: string, listName?: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const trimmed = text.trimStart();
    if (trimmed === '') throw unusable('is empty');
    throw unusable(trimmed.startsWith('<') ? 'is an HTML page' : 'is not JSON');
  }
  if (listName !== undefined && Array.isArray(value)) return { [listName]: value };
  if (!isObject(value)) throw unusable('is not a JSON object');
  return value;
}

/** Throws the error of a body with status 200, unless it has choices as well. */
export function throwIfError(fields: Fields, context: RefusalContext): void {
  const { error, choices } = fields;
  if (error === undefined || error === null || (Array.isArray(choices) && choices.length > 0)) return;
  throw errorInBody(fields, context);
}

/** Statuses of errors by their type or, in responses, by their code. */
const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_prompt: 400,
  authentication_error: 401,
  billing_error: 402,
  insufficient_quota: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  timeout: 504,
  timeout_error: 504,
  overloaded_error: 529,
};

/** Error inside an answer, judged by the status that it names, its type or its code; 500 if it has none. */
export function errorInBody({ error }: Fields, context: RefusalContext): ApiError {
  const { type, code, status: named } = fieldsOf(error);
  const own = [code, named].map(Number).find((each) => each >= 400 && each < 600);
  const status = own ?? statuses[stringOr(type, '')] ?? statuses[stringOr(code, '')] ?? 500;
  return errorForStatus({ status, headers: {}, text: JSON.stringify({ error }) }, context);
}

/** @param why completes the sentence "The answer of the model's server ..." */
export function unusable(why: string): ApiError {
  return new ApiError('invalid_upstream_response', `The answer of the model's server ${why}.`);
}
