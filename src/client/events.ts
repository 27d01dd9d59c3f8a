import { createParser } from 'eventsource-parser';
import { bytesOf } from './transport.ts';

/** The data of each server-sent event. */
export async function* eventsOf(response: Response, baseUrl: string): AsyncGenerator<string> {
  const ready: string[] = [];
  const parser = createParser({ onEvent: (event) => ready.push(event.data) });
  const decoder = new TextDecoder();
  for await (const bytes of bytesOf(response, baseUrl)) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    yield* ready.splice(0);
  }
}
