import type { ResultStream } from '../../core/batch.ts';
import { lineText } from '../json/line-text.ts';
import { findMember, scanJson } from '../json/scan.ts';

/** Result types of requests that never ran, by error code. */
const neverRan: Readonly<Record<string, string>> = { batch_cancelled: 'canceled', batch_expired: 'expired' };

/** Converts a line of a result file to the format of the messages API. Messages keep every byte. */
export function messageResultLine(text: string, stream: ResultStream): string {
  if (stream === 'output') {
    const custom = valueOf(text, 'custom_id');
    const message = valueOf(valueOf(text, 'response'), 'body');
    return `{"custom_id":${custom},"result":{"type":"succeeded","message":${message}}}`;
  }
  const { id, custom_id, error } = JSON.parse(text) as {
    id: string;
    custom_id: unknown;
    error: Record<'code' | 'type' | 'message', string>;
  };
  const { code, type, message } = error;
  const ended = neverRan[code];
  const result = ended
    ? { type: ended }
    : { type: 'errored', error: { type: 'error', error: { type, message, code }, request_id: id } };
  return lineText(JSON.stringify({ custom_id, result }));
}

/** JSON text of a member of a line that Offpeak wrote. */
function valueOf(text: string, name: string): string {
  const { start, end } = findMember(scanJson(text, { maxDepth: Infinity, maxNodes: Infinity }), name)!;
  return text.slice(start, end);
}
