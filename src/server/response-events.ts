import type { ResponseEvent } from '../wire/responses/responses.ts';
import { responseErrorEvent, responseEvent } from '../wire/responses/stream/sse.ts';
import { type Answer, events } from './answer.ts';

/** The events of a response, those of a list in one text. What breaks them off is told as the event after the last. */
export function responseEvents(lists: AsyncIterable<readonly ResponseEvent[]>): Answer {
  let next = 0;
  async function* written(): AsyncGenerator<string> {
    for await (const list of lists) {
      next = (list.at(-1)?.sequence_number ?? next - 1) + 1;
      yield list.map(responseEvent).join('');
    }
  }
  return events(written(), (error) => responseErrorEvent(error, next));
}
