import { describe, expect, it } from 'vitest';
import { chatResponse } from '../../test/support/fake-engine.ts';
import { chunksOf, named, usageOf } from './answers.ts';

describe('named', () => {
  it('gives an answer our id and the public name, and keeps what else the engine said', () => {
    const response = { ...chatResponse('hi'), timings: { ms: 3 } };
    expect(named(response, 'chatcmpl_1', 'public')).toEqual({
      ...response,
      id: 'chatcmpl_1',
      model: 'public',
    });
  });
});

describe('usageOf', () => {
  it('counts cached tokens among the input', () => {
    expect(usageOf(chatResponse('').usage)).toEqual({ inputTokens: 7, cachedTokens: 2, outputTokens: 5 });
  });
});

describe('chunksOf', () => {
  it('is the answer in pieces, with its usage last', () => {
    const chunks = [
      ...chunksOf(
        chatResponse('hi', {
          calls: [
            ['f', '{}'],
            ['g', '[]'],
          ],
          finish: 'tool_calls',
        }),
      ),
    ];
    expect(chunks.map((chunk) => chunk.choices[0]?.finish_reason)).toEqual([null, 'tool_calls', undefined]);
    expect(chunks[0]?.choices[0]?.delta).toMatchObject({
      role: 'assistant',
      content: 'hi',
      tool_calls: [
        { index: 0, function: { name: 'f' } },
        { index: 1, function: { name: 'g' } },
      ],
    });
    expect(chunks[2]).toMatchObject({ choices: [], usage: { total_tokens: 12 } });
    expect(chunks.every((chunk) => chunk.object === 'chat.completion.chunk')).toBe(true);
  });

  it('gives every choice its pieces, and keeps reasoning', () => {
    const response = chatResponse(null);
    response.choices[0]!.message.reasoning = 'because';
    response.choices.push({ ...response.choices[0]!, index: 1 });
    const chunks = [...chunksOf(response)];
    expect(chunks.map((chunk) => chunk.choices[0]?.index)).toEqual([0, 0, 1, 1, undefined]);
    expect(chunks[2]?.choices[0]?.delta).toMatchObject({ content: '', reasoning: 'because' });
  });
});
