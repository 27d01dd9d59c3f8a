import { expect, test } from 'vitest';
import { createChunkWriter, toChatResponse } from './present.ts';

const envelope = { id: 'chatcmpl_1', created: 1, model: 'm' };
const tokens = { prompt: 3, cached: 1, completion: 2, reasoning: 1 };

function ids(): () => string {
  let made = 0;
  return () => `call_${++made}`;
}

test('what was thought stands beside the answer, under both names, and only where there is any', () => {
  const choice = { content: 'Rain.', reasoning: 'Hm.', calls: [], logprobs: null, finish: 'stop' as const };
  const { choices } = toChatResponse(
    { choices: [choice, { ...choice, reasoning: '' }], tokens },
    envelope,
    ids(),
  );
  expect(choices[0]!.message).toMatchObject({ content: 'Rain.', reasoning: 'Hm.', reasoning_content: 'Hm.' });
  expect(choices[1]!.message).not.toHaveProperty('reasoning');
  expect(choices[1]!.message).not.toHaveProperty('reasoning_content');
});

test('streamed, thoughts come as deltas of their own, and calls are counted for each choice', () => {
  const writer = createChunkWriter(envelope, ids());
  const call = { name: 'f', arguments: '{}' };
  const chunks = [
    ...writer.write(0, { reasoning: 'Hm.' }),
    ...writer.write(0, { call }),
    ...writer.write(1, { call }),
    ...writer.write(0, { call }),
    ...writer.write(0, { finish: 'tool_calls' }),
  ].map(({ choices }) => choices[0]!);
  expect(chunks[1]!.delta).toEqual({ reasoning: 'Hm.', reasoning_content: 'Hm.' });
  const heads = chunks.flatMap(({ index, delta }) =>
    (delta.tool_calls ?? []).filter((one) => one.id).map((one) => [index, one.index, one.id]),
  );
  expect(heads).toEqual([
    [0, 0, 'call_1'],
    [1, 0, 'call_2'],
    [0, 1, 'call_3'],
  ]);
  expect(chunks.at(-1)).toMatchObject({ delta: {}, finish_reason: 'tool_calls' });
});
