import type { EventSourceMessage } from 'eventsource-parser';
import type { Fields } from '../../../base/fields.ts';
import type { NativeEvent, NativeRequest } from '../../engines.ts';
import type { RefusalContext } from '../connection/status-errors.ts';

/** A format in which requests go on as their clients wrote them. */
export interface NativeFormat {
  /** Behind the base of the URL. */
  path: string;
  /** The members of a request that go on. */
  members: ReadonlySet<string>;
  /** The betas that the forwarded members of a request need. */
  betas?: (request: NativeRequest, goesOn: (member: string) => boolean) => string[];
  /**
   * @returns `said`: all that its deltas would have told
   * @throws ApiError `invalid_upstream_response` for what is no answer of this format
   */
  read(answer: Fields): { usage: Fields; said: string };
  /** The text of an answer with what its server reported wrongly put right. */
  corrected?(answer: Fields, text: string): string;
  /**
   * Reads the events of one stream, in order; null for those that are of no answer.
   * @throws ApiError what an error among them means; `invalid_upstream_response` for an end before the answer's
   */
  createReader(context: RefusalContext): (event: EventSourceMessage) => UncountedEvent | null;
}

/** An event of which nothing is counted yet. */
export interface UncountedEvent extends NativeEvent {
  /** What the first one tells of the usage. */
  begins?: Fields;
  /** What the last one tells of it. */
  ends?: Fields;
}
