import { expect, it } from 'vitest';
import { answerOf } from './answer.ts';

const contentOf = (body: object): unknown => answerOf({ response: { body } } as never).content;

it.each([
  [{ data: [{ index: 0, embedding: [1, 2] }] }, [1, 2]],
  [{ data: [{ score: 0.5 }, { score: 1 }] }, [0.5, 1]],
  [{ results: [{ index: 1, relevance_score: 1 }] }, [{ index: 1, relevance_score: 1 }]],
  [{ results: [{ flagged: true, categories: { a: true } }] }, { flagged: true, categories: { a: true } }],
  [{ data: [], results: [] }, null],
])('finds the content of the direct answer %j', (body, content) => {
  expect(contentOf(body)).toEqual(content);
});
