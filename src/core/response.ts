export const responseStatuses = [
  'queued',
  'in_progress',
  'completed',
  'incomplete',
  'failed',
  'cancelled',
] as const;
export type ResponseStatus = (typeof responseStatuses)[number];

/** End of an unfinished response. */
export type ResponseEnd = Pick<StoredResponse, 'status' | 'output' | 'body' | 'pieces'>;

/** Stored response. Instants are epoch milliseconds. */
export interface StoredResponse {
  id: string;
  orgId: string;
  keyId: string | null;
  status: ResponseStatus;
  /** Previous response, or the conversation of this one. */
  previousId: string | null;
  createdAt: number;
  expiresAt: number;
  /** End of the lease of the process that makes the response; after it, any process may mark it failed. Null once finished. */
  aliveUntil: number | null;
  /** Single request in the batch engine that makes the response; null for others. It has no lease: `aliveUntil` is its expiry. */
  requestId: string | null;
  /** Bytes that the response adds to a conversation: output and input, with references resolved. */
  saidBytes: number;
  /** Input items as JSON text, with references unresolved. */
  input: string;
  /** Output items as JSON text. */
  output: string;
  /** Response for clients as JSON text; `output` replaces the output in it. */
  body: string;
  /** Stream pieces as JSON text, for replays; null if not streamed. */
  pieces: string | null;
}
