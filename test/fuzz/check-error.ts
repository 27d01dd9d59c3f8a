import type { Json } from './check-body.ts';
import type { SentRequest } from './cases.ts';

const types: Record<number, [chat: string, messages: string]> = {
  400: ['invalid_request_error', 'invalid_request_error'],
  404: ['invalid_request_error', 'not_found_error'],
  413: ['invalid_request_error', 'invalid_request_error'],
  415: ['invalid_request_error', 'invalid_request_error'],
  422: ['invalid_request_error', 'invalid_request_error'],
};

/** Returns the fault of an error body (api.md, section 2), or undefined. */
export function findErrorFault(
  sent: SentRequest,
  status: number,
  body: Json,
  id: string,
): string | undefined {
  const { error, message, detail, request_id: requestId, type } = body;
  // An unsatisfiable schema is the only thing that makes the engine of these tests fail.
  if (status === 502 && ['schema_not_met', 'tool_not_called'].includes(error?.code)) return undefined;
  const known = types[status];
  if (!known) return `status ${status}`;
  const expected = known[sent.path.startsWith('/v1/messages') ? 1 : 0];
  if (type !== 'error' || error?.type !== expected) return `type ${error?.type} for ${status}`;
  if (typeof message !== 'string' || message === '' || error.message !== message) return 'no message';
  if (message.length > 2000) return `a message of ${message.length} characters`;
  if (typeof error.code !== 'string' || requestId !== id) return 'no code, or another request id';
  if (error.param !== null && typeof error.param !== 'string') return 'a param that is no string';
  if (/\.ts\b|node_modules|\bat \w+ \(/.test(message)) return 'the message tells of the inside';
  if (status !== 422) return undefined;
  if (!Array.isArray(detail) || detail.length === 0 || detail.length > 100) return 'no detail';
  for (const { loc, msg } of detail)
    if (loc[0] !== 'body' || typeof msg !== 'string') return 'a detail without a place or a message';
  if (error.param !== null && !message.includes(error.param))
    return `the message does not name ${error.param}`;
  return faultOfPlaces(sent, [error.param, ...(error.details?.errors ?? []).map((each: Json) => each.param)]);
}

/** True if the location exists in the request as sent; only its last step may be missing. */
function faultOfPlaces({ bytes }: SentRequest, params: (string | null | undefined)[]): string | undefined {
  const deep = params.filter(
    (param) => typeof param === 'string' && /[.[]/.test(param) && !param.includes('…'),
  );
  if (deep.length === 0 || bytes.length > 100_000) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
  for (const param of deep.slice(0, 10) as string[]) {
    const steps = stepsOf(param);
    let at = value;
    for (const step of steps.slice(0, -1)) {
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step))
        return `there is no place ${param}`;
      at = (at as Record<string, unknown>)[step];
    }
  }
  return undefined;
}

function stepsOf(param: string): string[] {
  const pattern = /\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.[\]]+)/g;
  return Array.from(param.matchAll(pattern), ([, key, index, plain]) =>
    key === undefined ? (index ?? plain)! : (JSON.parse(`"${key}"`) as string),
  );
}
