import { ApiError, catalogue } from '../../core/errors.ts';
import type { Fault } from '../../core/errors.ts';
import type { ResponseBody } from './responses.ts';
import type { Converted } from './to-chat-request.ts';

/**
 * An error of a chat request as the caller of `/v1/responses` can use it: `messages[3].content` is where he wrote it.
 * Errors without a place, and what is no `ApiError`, stay as they are.
 */
export function fromChatError(error: unknown, from: Pick<Converted, 'messagePaths' | 'toolPaths'>): unknown {
  if (!(error instanceof ApiError) || error.param === null) return error;
  const { param } = error;
  const moved = movedPath(param, from);
  if (moved === param) return error;
  const move = (fault: Fault): Fault =>
    fault.param === undefined ? fault : { ...fault, param: movedPath(fault.param, from) };
  const message = error.message.startsWith(param) ? moved + error.message.slice(param.length) : error.message;
  return new ApiError(error.code, message, {
    param: moved,
    faults: error.faults.map(move),
    retry: error.retry,
    cause: error,
    ...(error.status === 422 && catalogue[error.code].status !== 422 && { status: 422 as const }),
    ...(error.retryAfter !== undefined && { retryAfter: error.retryAfter }),
    ...(error.shouldRetry !== undefined && { shouldRetry: error.shouldRetry }),
  });
}

function movedPath(path: string, { messagePaths, toolPaths }: Pick<Converted, 'messagePaths' | 'toolPaths'>) {
  const [, list, index, rest = ''] = /^(messages|tools)\[(\d+)\](.*)$/.exec(path) ?? [];
  if (list === 'messages') {
    const from = messagePaths[Number(index)];
    if (from === undefined) return path;
    return from.includes('[') ? from + rest : from;
  }
  if (list === 'tools') {
    const from = toolPaths[Number(index)];
    return from === undefined ? path : from + rest.replace(/^\.function/, '');
  }
  return path
    .replace(/^response_format\.json_schema/, 'text.format')
    .replace(/^response_format/, 'text.format')
    .replace(/^max_(completion_)?tokens$/, 'max_output_tokens');
}

/** What went wrong, as a response that is read back tells it. */
export function responseError(error: unknown): NonNullable<ResponseBody['error']> {
  if (!(error instanceof ApiError))
    return { code: 'server_error', message: 'The server made a mistake while it made this response.' };
  const { kind, message } = error;
  if (kind === 'rate') return { code: 'rate_limit_exceeded', message };
  return { code: kind === 'invalid' ? 'invalid_prompt' : 'server_error', message };
}
