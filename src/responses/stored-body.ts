import type { ResponseEnd, StoredResponse } from '../core/response.ts';
import type { StoredChat } from '../core/stored-chat.ts';
import type { ResponseWithoutInput } from '../store/contract/responses.ts';
import type { OutputPiece } from '../wire/responses/answer/output-builder.ts';
import type { ResponseBody } from '../wire/responses/responses.ts';
import { ttlMs } from './context.ts';

/** Response as stored. The output is separate, because continuing a response needs nothing else. */
export function toTexts(body: ResponseBody, pieces: readonly OutputPiece[] | null = null): ResponseEnd {
  return {
    status: body.status,
    output: JSON.stringify(body.output),
    body: JSON.stringify({ ...body, output: [] }),
    pieces: pieces && JSON.stringify(pieces),
  };
}

/** Request whose response is stored. */
export interface StoredRequest {
  orgId: string;
  keyId: string;
  /** JSON of the items that the request adds. */
  input: string;
  /** UTF-8 bytes of `input`. */
  inputBytes: number;
  now: number;
}

/** @param texts the end of the response, as `toTexts` gives it */
export function toRow(
  { orgId, keyId, input, inputBytes, now }: StoredRequest,
  body: ResponseBody,
  texts: ResponseEnd,
): StoredResponse {
  return {
    id: body.id,
    orgId,
    keyId,
    previousId: body.conversation?.id ?? body.previous_response_id,
    createdAt: now,
    expiresAt: now + ttlMs,
    aliveUntil: null,
    requestId: null,
    saidBytes: inputBytes + Buffer.byteLength(texts.output),
    input,
    ...texts,
  };
}

/**
 * Row of a stored chat completion.
 * @param answer as it was generated @param shown as its client gets it
 */
export function toChatRow(
  { orgId, keyId, now, ttlMs: keepMs }: { orgId: string; keyId: string; now: number; ttlMs: number },
  { messages, metadata }: { messages: readonly unknown[]; metadata: object },
  { id, model }: { id: string; model: string },
  shown: object,
): StoredChat {
  return {
    id,
    orgId,
    keyId,
    createdAt: now,
    expiresAt: now + keepMs,
    model,
    metadata: JSON.stringify(metadata),
    messages: JSON.stringify(messages),
    body: JSON.stringify(shown),
  };
}

export function toBody({ body, output }: ResponseWithoutInput): ResponseBody {
  return { ...(JSON.parse(body) as ResponseBody), output: JSON.parse(output) as ResponseBody['output'] };
}
