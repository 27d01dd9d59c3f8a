import { expect, it } from 'vitest';
import { replayEvents } from './replay.ts';
import { newResponse } from '../answer/response-body.ts';
import type { ResponseBody } from '../responses.ts';

it('replays a long answer in several lists', () => {
  const id = `resp_${'0'.repeat(32)}`;
  const begun = newResponse(
    { model: 'm', input: 'x' },
    { id, createdAt: 1, model: 'm', status: 'completed' },
  );
  const text = 'ab'.repeat(5_000);
  const body: ResponseBody = {
    ...begun,
    output: [
      {
        id: 'msg_1',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
      },
    ],
  };
  const pieces = Array.from({ length: 5_000 }, (): [number, number] => [0, 2]);
  const lists = [...replayEvents(body, pieces)];
  expect(Math.max(...lists.map((list) => list.length))).toBeLessThan(220);
  const events = lists.flat();
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, n) => n));
  expect(events.map(({ delta }) => (typeof delta === 'string' ? delta : '')).join('')).toBe(text);
});
