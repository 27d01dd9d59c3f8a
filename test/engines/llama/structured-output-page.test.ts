import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { formatPatterns } from '../../../src/engines/llama/grammar/formats.ts';
import { keywords as known } from '../../../src/engines/schemas/keywords.ts';

const page = readFileSync(new URL('../../../docs/structured-output.md', import.meta.url), 'utf8');
const [, keywords = '', formats = ''] = page.split(/^## .*$/m);
const rows = (section: string): string[][] =>
  section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));

test('the page for users lists the keywords as they are enforced', () => {
  expect(Object.fromEntries(rows(keywords).map(([, keyword, held]) => [keyword, held]))).toEqual(
    Object.fromEntries(Array.from(known, ([keyword, { hold }]) => [keyword, hold])),
  );
  for (const [, keyword, held, how] of rows(keywords)) {
    expect(held !== 'mostly' || how !== '', keyword).toBe(true);
  }
});

test('the page for users lists the enforced formats', () => {
  expect(rows(formats).map(([, format]) => format)).toEqual(Object.keys(formatPatterns));
});
