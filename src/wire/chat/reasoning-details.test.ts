import { expect, it } from 'vitest';
import { addDetails, type ReasoningDetail, reasoningDetails, textOfDetails } from './reasoning-details.ts';

it('joins the pieces of one text, and nothing else', () => {
  const all: ReasoningDetail[] = [];
  const piece = (text: string, more: object = {}) => ({ type: 'reasoning.text', index: 0, text, ...more });
  addDetails(all, [piece('The '), piece('sky', { signature: null })]);
  addDetails(all, [piece('', { signature: 'SIG', format: 'f' })]);
  addDetails(all, [{ type: 'reasoning.encrypted', index: 0, data: 'AB', id: 'c1' }]);
  addDetails(all, [{ type: 'reasoning.encrypted', index: 0, data: 'CD', id: 'c2' }]);
  addDetails(all, [{ type: 'reasoning.summary', index: 1, summary: 'in ' }]);
  addDetails(all, [{ type: 'reasoning.summary', index: 1, summary: 'short' }]);
  addDetails(all, [{ type: 'reasoning.summary', index: 2, summary: ' too' }]);
  expect(all).toEqual([
    { type: 'reasoning.text', index: 0, text: 'The sky', signature: 'SIG', format: 'f' },
    { type: 'reasoning.encrypted', index: 0, data: 'AB', id: 'c1' },
    { type: 'reasoning.encrypted', index: 0, data: 'CD', id: 'c2' },
    { type: 'reasoning.summary', index: 1, summary: 'in short' },
    { type: 'reasoning.summary', index: 2, summary: ' too' },
  ]);
  expect(textOfDetails(all)).toBe('The skyin short too');
});

it('accepts only objects', () => {
  expect(reasoningDetails([null, 'a', [], { type: 't' }])).toEqual([{ type: 't' }]);
  expect([reasoningDetails(null), reasoningDetails('a'), reasoningDetails({})]).toEqual([[], [], []]);
});
