import { expect, test } from 'vitest';
import { csvRecord, withoutFormula } from './csv-record.ts';

test('quotes cells that need it', () => {
  expect(csvRecord(['a', 'b,c', 'd "e"', 'f\ng', null, 7, ['h']])).toBe(
    'a,"b,c","d ""e""","f\ng",,7,"[""h""]"\r\n',
  );
});

test.each([
  '=HYPERLINK("http://x")',
  "=cmd|' /C calc'!A0",
  '@SUM(1)',
  '-1+1',
  '+1-2',
  '-',
  '- first item',
  '\t=1',
  '\r=1',
  '\n=1',
  '＝1+1',
  '-1,5',
  '+49 30 1234',
])('puts an apostrophe before %j', (text) => {
  expect(withoutFormula(text)).toBe(`'${text}`);
});

test.each(['', 'a=1', ' =1', "'=1", '-5', '+5', '-1.5e-3', '+.5', '5', 7, null, ['=1']])(
  'leaves %j',
  (cell) => {
    expect(withoutFormula(cell)).toBe(cell);
  },
);
