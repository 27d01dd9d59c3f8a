import type { EventSourceMessage } from 'eventsource-parser';
import type { Fields } from '../../../base/fields.ts';
import type { NativeEvent, NativeRequest } from '../../engines.ts';
import type { RefusalContext } from '../connection/status-errors.ts';

/** A format whose requests and answers are not translated. */
export interface NativeFormat {
  /** Path below the base of the URL. */
  path: string;
  /** Permitted members of a request. */
  members: ReadonlySet<string>;
  /** Returns the betas that the forwarded members of a request need. */
  betas?: (request: NativeRequest, isForwarded: (member: string) => boolean) => string[];
  /** @returns `generated`: all text of a stream's deltas. @throws ApiError `invalid_upstream_response` for another format */
  read(answer: Fields): { usage: Fields; generated: string };
  /** Returns the text of an answer with wrong fields of its server corrected. */
  corrected?(answer: Fields, text: string): string;
  /** Reads a stream; null skips an event. @throws ApiError for an error in it, `invalid_upstream_response` if it is cut */
  createReader(context: RefusalContext): (event: EventSourceMessage) => UncountedEvent | null;
}

/** An event before its usage is checked. */
export interface UncountedEvent extends NativeEvent {
  startUsage?: Fields;
  endUsage?: Fields;
}
