export const responseStatuses = [
  'queued',
  'in_progress',
  'completed',
  'incomplete',
  'failed',
  'cancelled',
] as const;
export type ResponseStatus = (typeof responseStatuses)[number];

/** A stored response. Instants are epoch milliseconds. */
export interface StoredResponse {
  id: string;
  orgId: string;
  status: ResponseStatus;
  /** The response it continues, or the conversation that it was made in. */
  previousId: string | null;
  createdAt: number;
  expiresAt: number;
  /**
   * While it is being made: until when the process that makes it is known to live. After that it has failed, whoever
   * looks first. Null once it is finished.
   */
  aliveUntil: number | null;
  /** Bytes that it adds to a conversation: its input, references counted as what they name, and its output. */
  saidBytes: number;
  /** The items of the input, as JSON text. References stay as they came. */
  input: string;
  /** The items of the output, as JSON text. */
  output: string;
  /** The response as clients see it, as JSON text; its output is the one above, whatever stands in here. */
  body: string;
  /** How the output came, as JSON text, for a replay; null when it came whole. */
  pieces: string | null;
}
