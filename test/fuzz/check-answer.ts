import type { Sent } from './cases.ts';
import { faultOfBody, type Json } from './check-body.ts';
import { faultOfError } from './check-error.ts';
import { faultOfStream } from './check-stream.ts';

export interface Received {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** What is wrong with an answer, or undefined. `sent` may have been anything. */
export function faultOf(sent: Sent, { status, headers, text }: Received): string | undefined {
  const id = headers['x-request-id'];
  if (typeof id !== 'string' || !id.startsWith('req_') || headers['request-id'] !== id)
    return 'no request id';
  const type = String(headers['content-type']);
  if (status === 200 && type.startsWith('text/event-stream')) return faultOfStream(sent.path, text);
  if (!type.startsWith('application/json')) return `content type ${type}`;
  const body: Json = JSON.parse(text);
  if (status === 200) return faultOfBody(sent.path, body);
  return faultOfError(sent, status, body, id);
}
