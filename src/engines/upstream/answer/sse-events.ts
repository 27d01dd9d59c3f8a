import { createParser, type EventSourceMessage } from 'eventsource-parser';

/**
 * What the events of a server-sent stream come to, in lists of what came together, from bytes cut anywhere (reliability.md,
 * F27): CRLF, comments, characters split between chunks, and a last event without the blank line behind it. What came before
 * a fault is told before it.
 * @param read what one event comes to; null for nothing
 * @param isOver asked after each event: nothing more is read then
 */
export async function* readEach<T>(
  bytes: AsyncIterable<Uint8Array>,
  read: (event: EventSourceMessage) => T | null,
  isOver: () => boolean,
): AsyncGenerator<T[]> {
  const decoder = new TextDecoder();
  let events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => void events.push(event) });

  let fault: { error: unknown } | undefined;

  function take(): T[] {
    const ready: T[] = [];
    try {
      for (const event of events) {
        const one = read(event);
        if (one) ready.push(one);
        if (isOver()) break;
      }
    } catch (error) {
      fault = { error };
    }
    events = [];
    return ready;
  }

  for await (const chunk of bytes) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    const ready = take();
    if (ready.length > 0) yield ready;
    if (fault) throw fault.error;
    if (isOver()) return;
  }
  parser.feed(`${decoder.decode()}\n\n`);
  const last = take();
  if (last.length > 0) yield last;
  if (fault) throw fault.error;
}
