import { createParser } from 'eventsource-parser';
import { ClientError, type RemoteError, Unreachable } from './errors.ts';
import { type Call, type Transport, readBytes } from './transport.ts';

/**
 * What each server-sent event says, to `[DONE]` or as long as somebody listens.
 * @param what the stream is of, for who hears that it broke off
 * @throws Unreachable when the stream stops by itself, ClientError when an error arrives in it
 */
export async function* streamEvents<T extends object>(
  transport: Transport,
  call: Call,
  what: string,
): AsyncGenerator<T> {
  const response = await transport.send(call);
  const requestId = response.headers.get('x-request-id');
  const ready: string[] = [];
  const parser = createParser({ onEvent: (event) => ready.push(event.data) });
  const decoder = new TextDecoder();
  for await (const bytes of readBytes(response, transport.baseUrl)) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    for (const data of ready.splice(0)) {
      if (data === '[DONE]') return;
      const told = JSON.parse(data) as T | { error?: RemoteError };
      if ('error' in told && told.error) {
        const { error } = told;
        throw new ClientError(error.message ?? 'The stream failed.', { status: 200, requestId, error });
      }
      yield told as T;
    }
  }
  throw new Unreachable(transport.baseUrl, `the stream ended before the ${what} did`);
}
