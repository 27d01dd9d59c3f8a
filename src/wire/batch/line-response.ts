import type { ResponseBody, StoredItem } from '../responses/responses.ts';

/** Member `response` of a line that is a single request for a response (docs/design/batch-engine.md, "Single requests"). */
export interface LineResponse {
  /** The response before its answer. */
  begun: ResponseBody;
  /** The client's input, with references resolved. */
  input: readonly StoredItem[];
}
