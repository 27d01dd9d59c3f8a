import { describe, expect, it } from 'vitest';
import { answerTurns, requestTurns, structuredAnswer } from './turns.ts';

const answer = (message: object) => ({ choices: [{ message: { role: 'assistant', ...message } }] });

describe('turns', () => {
  it.each([
    [{ messages: [{ role: 'user', content: 'hi' }] }, [{ role: 'user', text: 'hi' }]],
    [
      {
        system: 'be kind',
        messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'image' }] }],
      },
      [
        { role: 'system', text: 'be kind' },
        { role: 'user', text: 'a\n{"type":"image"}' },
      ],
    ],
    [{ input: 'embed me' }, [{ role: 'user', text: 'embed me' }]],
    [
      { input: ['one', 'two'] },
      [
        { role: 'user', text: 'one' },
        { role: 'user', text: 'two' },
      ],
    ],
    [
      { query: 'q', documents: ['a', { text: 'b' }] },
      [
        { role: 'query', text: 'q' },
        { role: 'document', text: 'a' },
        { role: 'document', text: 'b' },
      ],
    ],
    [
      { text_1: 'a', text_2: ['b'] },
      [
        { role: 'query', text: 'a' },
        { role: 'document', text: 'b' },
      ],
    ],
  ])('reads the request %j', (body, turns) => {
    expect(requestTurns(body)).toEqual(turns);
  });

  it('reads answers of all formats', () => {
    expect(answerTurns(answer({ content: 'yes' }))).toEqual([{ role: 'assistant', text: 'yes' }]);
    const calls = [{ function: { name: 'f', arguments: '{"a":1}' } }];
    expect(answerTurns(answer({ content: null, tool_calls: calls }))).toEqual([
      { role: 'assistant', text: 'f({"a":1})' },
    ]);
    expect(answerTurns({ content: [{ type: 'text', text: 'x' }] })).toEqual([
      { role: 'assistant', text: 'x' },
    ]);
    expect(answerTurns({ choices: [{ text: 'completion' }] })).toEqual([
      { role: 'assistant', text: 'completion' },
    ]);
    expect(answerTurns({ data: [{ embedding: [1] }] })).toEqual([{ role: 'embeddings', text: '1 vectors' }]);
    expect(answerTurns({ data: [{ score: 0.5 }] })).toEqual([{ role: 'score', text: '0.5' }]);
    const results = [{ index: 0, relevance_score: 0.5 }];
    expect(answerTurns({ results })).toEqual([{ role: 'result', text: JSON.stringify(results[0], null, 2) }]);
    expect(answerTurns({ error: {} })).toEqual([]);
    expect(answerTurns(null)).toEqual([]);
  });

  it('finds objects in answers and in calls, and nothing else', () => {
    expect(structuredAnswer(answer({ content: ' {"a": [1]}' }))).toEqual({ a: [1] });
    const calls = [{ function: { name: 'f', arguments: '{"b":2}' } }];
    expect(structuredAnswer(answer({ content: '', tool_calls: calls }))).toEqual({ b: 2 });
    for (const content of ['[1]', 'text', '{broken', ''])
      expect(structuredAnswer(answer({ content }))).toBeUndefined();
  });
});
