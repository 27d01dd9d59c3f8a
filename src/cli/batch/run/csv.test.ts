import { expect, test } from 'vitest';
import type { ResultLine } from '../../../client/resources.ts';
import { csvRow } from './csv.ts';

const answered = (content: unknown): ResultLine => ({
  id: 'r',
  custom_id: '-x',
  response: { status_code: 200, request_id: 'r', body: { choices: [{ message: { content } }] } },
  error: null,
});

test('C27: no cell runs as a formula, not even an id', () => {
  expect(csvRow(answered('=1+1'), false)).toBe("'-x,200,'=1+1,,,,,\r\n");
  const failed = { id: 'r', custom_id: '=1+1', response: null, error: { code: 'c', message: '@SUM(1)' } };
  expect(csvRow(failed as ResultLine, false)).toBe("'=1+1,,,,,,c,'@SUM(1)\r\n");
});

test('numbers stay numbers', () => {
  expect(csvRow(answered('-5'), false)).toBe("'-x,200,-5,,,,,\r\n");
});

test('raw texts are as they came', () => {
  expect(csvRow(answered('=1+1'), true)).toBe('-x,200,=1+1,,,,,\r\n');
});
