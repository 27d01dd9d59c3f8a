import type { EventSourceMessage } from 'eventsource-parser';
import type { ChatUsage } from '../../../wire/chat/chat.ts';
import type { NativeEvent } from '../../engines.ts';
import type { ReadOptions } from '../answer/chat-response.ts';
import type { StreamOptions } from '../answer/chunk-stream.ts';
import type { Fields } from '../../../base/fields.ts';

/** What is needed to read an answer of which only the usage is read. */
export type Reading = Pick<ReadOptions, 'asked' | 'repairs' | 'known'>;
export type StreamReading = Reading & Pick<StreamOptions, 'context'>;

/** A format in which requests go on as their clients wrote them. */
export interface NativeFormat {
  /** Behind the base of the URL. */
  path: string;
  /** The members of a request that go on. */
  members: ReadonlySet<string>;
  /** @throws ApiError `invalid_upstream_response` for what is no answer of this format */
  usageOf(answer: Fields, options: Reading): ChatUsage;
  createReader(options: StreamReading): NativeReader;
}

/** Reads the events of one stream, in order. */
export interface NativeReader {
  /**
   * The last one has the usage.
   * @throws ApiError what an error among them means; `invalid_upstream_response` for an end before the answer's
   */
  read(event: EventSourceMessage): NativeEvent;
}
