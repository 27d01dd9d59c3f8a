import type { ResponseEvent } from '../wire/responses/responses.ts';
import { responseErrorEvent, responseEvent } from '../wire/responses/sse.ts';
import { type Answer, events } from './answer.ts';

/** The events of a response, one write each. What breaks them off is told as the event after the last. */
export function responseEvents(source: AsyncIterable<ResponseEvent>): Answer {
  let next = 0;
  async function* written(): AsyncGenerator<string> {
    for await (const event of source) {
      next = event.sequence_number + 1;
      yield responseEvent(event);
    }
  }
  return events(written(), (error) => responseErrorEvent(error, next));
}
