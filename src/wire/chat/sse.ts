import { errorObject } from '../errors/error-body.ts';
import type { ChatChunk } from './chat.ts';
import type { FunctionsChunk } from './function-answer.ts';

/** Server-sent events of a chat stream (wire-formats.md, section 1a). Each string is one write. */
export const sseHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // nginx holds streams back otherwise.
  'x-accel-buffering': 'no',
} as const;

export function chatEvent(chunk: ChatChunk | FunctionsChunk): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** Ends a stream that said everything. */
export const chatDone = 'data: [DONE]\n\n';

/** Ends a stream that broke: no `[DONE]` follows, and both SDKs raise it. */
export function chatErrorEvent(error: unknown): string {
  return `data: ${JSON.stringify({ error: errorObject(error) })}\n\n`;
}

/** A comment, which every client skips; unknown event types would break some. */
export const sseKeepAlive = ': keep-alive\n\n';
