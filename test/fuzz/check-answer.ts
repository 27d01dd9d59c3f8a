import type { SentRequest } from './cases.ts';
import { findBodyFault, type Json } from './check-body.ts';
import { findErrorFault } from './check-error.ts';
import { findStreamFault } from './check-stream.ts';

export interface ReceivedAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Returns the fault of an answer to any request, or undefined. */
export function findFault(sent: SentRequest, { status, headers, text }: ReceivedAnswer): string | undefined {
  const id = headers['x-request-id'];
  if (typeof id !== 'string' || !id.startsWith('req_') || headers['request-id'] !== id)
    return 'no request id';
  const type = String(headers['content-type']);
  if (status === 200 && type.startsWith('text/event-stream')) return findStreamFault(sent.path, text);
  if (!type.startsWith('application/json')) return `content type ${type}`;
  const body: Json = JSON.parse(text);
  if (status === 200) return findBodyFault(sent.path, body);
  return findErrorFault(sent, status, body, id);
}
