import type { ApiError } from '../../../core/errors.ts';
import { type Fields, fieldsOf, stringOr } from '../../../base/fields.ts';
import { errorForStatus, type RefusalContext } from './status-errors.ts';

/** What an error within an answer would have had for a status, by its type or, on responses, by its code. */
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

/** What an error means that came in an answer: by the status that it tells, or its type, or its code. */
export function errorInStream({ error }: Fields, context: RefusalContext): ApiError {
  const { type, code, status: other } = fieldsOf(error);
  const told = [code, other].map(Number).find((each) => each >= 400 && each < 600);
  const status = told ?? statuses[stringOr(type, '')] ?? statuses[stringOr(code, '')] ?? 500;
  return errorForStatus({ status, headers: {}, text: JSON.stringify({ error }) }, context);
}
