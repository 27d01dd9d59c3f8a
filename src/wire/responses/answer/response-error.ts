import { ApiError } from '../../../core/errors.ts';
import type { ResponseBody } from '../responses.ts';

/** What went wrong, as a response that is read back tells it: its codes are fewer than ours. */
export function responseError(error: unknown): NonNullable<ResponseBody['error']> {
  if (!(error instanceof ApiError))
    return { code: 'server_error', message: 'The server made a mistake while it made this response.' };
  const { kind, message } = error;
  if (kind === 'rate') return { code: 'rate_limit_exceeded', message };
  return { code: kind === 'invalid' ? 'invalid_prompt' : 'server_error', message };
}
