import type { ChatUsage } from '../../../wire/chat/chat.ts';
import type { NativeEvent } from '../../engines.ts';
import type { ReadOptions } from '../chat-response.ts';
import type { StreamOptions } from '../chat-stream.ts';
import type { Fields } from '../fields.ts';

/** What is needed to read an answer of which only the usage is read. */
export type Reading = Pick<ReadOptions, 'asked' | 'repairs'>;
export type StreamReading = Reading & Pick<StreamOptions, 'context' | 'finish'>;

/** A format in which requests go on as their clients wrote them. */
export interface NativeFormat {
  /** Behind the base of the URL. */
  path: string;
  /** The members of a request that go on. */
  members: ReadonlySet<string>;
  /** @throws ApiError `invalid_upstream_response` for what is no answer of this format */
  usageOf(fields: Fields, options: Reading): ChatUsage;
  /** @throws ApiError `invalid_upstream_response` when the stream ends before the answer did; what an error in it means */
  readStream(bytes: AsyncIterable<Uint8Array>, options: StreamReading): AsyncIterable<NativeEvent[]>;
}
