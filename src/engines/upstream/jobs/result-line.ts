import { parseLine } from '../../../base/byte-lines.ts';
import { fieldsOf, isObject } from '../../../base/fields.ts';
import type { Reply } from '../connection/replies.ts';

/** Result of one line. */
export interface LineReply {
  key: string;
  reply: Reply<Buffer>;
}

/** Reads a line of an output file; undefined for anything that is not a result. */
export function readResultLine(bytes: Uint8Array): LineReply | undefined {
  const fields = parseLine(bytes);
  const key = fields?.['custom_id'];
  if (!fields || typeof key !== 'string') return undefined;
  const response = fieldsOf(fields['response']);
  const { body } = response;
  const status = statusOf(response['status_code'], fields['error'], body);
  // Versions of vLLM differ in the place of an error.
  const content = body ?? {
    error: fields['error'] ?? { message: 'The job answered the line with neither body nor error.' },
  };
  return { key, reply: { status, headers: {}, body: Buffer.from(JSON.stringify(content)) } };
}

function statusOf(reported: unknown, error: unknown, body: unknown): number {
  const { code } = fieldsOf(error);
  const hasFailed = isObject(error) || typeof error === 'string';
  const isFailure = (status: unknown): status is number => isStatus(status) && status >= 400;
  if (hasFailed) return [reported, code].find(isFailure) ?? 500;
  if (isStatus(reported)) return reported;
  return isObject(body) ? 200 : 500;
}

function isStatus(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 200 && value < 600;
}
