import { createParser, type EventSourceMessage } from 'eventsource-parser';

/**
 * Reads server-sent events from bytes split anywhere (F27), in lists of those that arrived together: CRLF, comments, split
 * characters and a last event without a blank line are handled. Results before a failure are yielded before it is thrown.
 * @param read converts an event; null skips it
 * @param isOver checked after each event; true ends the reading
 */
export async function* readEvents<T>(
  bytes: AsyncIterable<Uint8Array>,
  read: (event: EventSourceMessage) => T | null,
  isOver: () => boolean,
): AsyncGenerator<T[]> {
  const decoder = new TextDecoder();
  let events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => void events.push(event) });

  let failure: { error: unknown } | undefined;

  function take(): T[] {
    const ready: T[] = [];
    try {
      for (const event of events) {
        const one = read(event);
        if (one) ready.push(one);
        if (isOver()) break;
      }
    } catch (error) {
      failure = { error };
    }
    events = [];
    return ready;
  }

  for await (const chunk of bytes) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    const ready = take();
    if (ready.length > 0) yield ready;
    if (failure) throw failure.error;
    if (isOver()) return;
  }
  parser.feed(`${decoder.decode()}\n\n`);
  const last = take();
  if (last.length > 0) yield last;
  if (failure) throw failure.error;
}
