import { createParser, type EventSourceMessage } from 'eventsource-parser';

/**
 * The events of a server-sent stream, in lists of what came together, which may be empty, from bytes cut anywhere
 * (reliability.md, F27): CRLF, comments, characters split between chunks, and a last event without the blank line behind it.
 */
export async function* readEvents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<EventSourceMessage[]> {
  const decoder = new TextDecoder();
  let events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => void events.push(event) });
  const take = () => {
    const ready = events;
    events = [];
    return ready;
  };
  for await (const chunk of bytes) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield take();
  }
  parser.feed(`${decoder.decode()}\n\n`);
  yield take();
}
