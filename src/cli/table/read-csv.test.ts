import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTable } from './open-table.ts';
import type { TableRow } from './table.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'offpeak-table-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function read(name: string, content: string | Uint8Array, encoding?: string) {
  const path = join(folder, name);
  writeFileSync(path, content);
  const table = await openTable(path, { encoding });
  const rows: TableRow[] = [];
  for await (const batch of table.read()) rows.push(...batch);
  return { columns: table.columns, rows, values: rows.map(({ values }) => values) };
}

describe('CSV', () => {
  it('of Excel has a byte order mark, semicolons, CRLF and line breaks in cells', async () => {
    const { columns, values } = await read('a.csv', '\uFEFFid;Text\r\n1;"a;b ""c""\r\nd"\r\n2;ü 日本 🎉\r\n');
    expect(columns).toEqual(['id', 'Text']);
    expect(values).toEqual([
      { id: '1', Text: 'a;b "c"\r\nd' },
      { id: '2', Text: 'ü 日本 🎉' },
    ]);
  });

  it.each([
    ['commas', 'a,b\n1,2\n'],
    ['tabs', 'a\tb\n1\t2\n'],
    ['pipes', 'a|b\n1|2\n'],
    ['a name with another delimiter in quotation marks', '"a";"b"\n1;2\n'],
    ['mixed line ends', 'a,b\r\n1,2\n'],
    ['line ends of an old Mac', 'a,b\r1,2\r'],
    ['no last line end', 'a,b\n1,2'],
    ['blank lines', 'a,b\n\n1,2\n\n'],
    ['UTF-16', Buffer.from('\uFEFFa\tb\r\n1\t2\r\n', 'utf16le')],
  ])('with %s', async (_, content) => {
    expect((await read('a.csv', content)).values).toEqual([{ a: '1', b: '2' }]);
  });

  it('may have one column', async () => {
    expect((await read('a.csv', 'text\n"x, y"\nz\n')).values).toEqual([{ text: 'x, y' }, { text: 'z' }]);
  });

  it('names columns without a name, and repeated ones', async () => {
    expect((await read('a.csv', 'a,,a\n1,2,3\n')).columns).toEqual(['a', 'column_2', 'a_2']);
  });

  it('may lack the last cells of a row, but not have more than columns', async () => {
    const { rows } = await read('a.csv', 'a,b,c\n1,2\n1,2,3,4\n');
    expect(rows).toEqual([
      { number: 1, values: { a: '1', b: '2', c: '' } },
      { number: 2, values: { a: '1', b: '2', c: '3' }, fault: 'the row has 4 cells, but 3 columns' },
    ]);
  });

  it('of another encoding is rejected, unless it is named', async () => {
    const latin = Buffer.from('text\ncaf\xe9\n', 'latin1');
    await expect(read('a.csv', latin)).rejects.toThrow('a.csv is not UTF-8');
    expect((await read('a.csv', latin, 'windows-1252')).values).toEqual([{ text: 'café' }]);
  });

  it('with an open quotation mark names the place', async () => {
    await expect(read('a.csv', 'a,b\n1,"2\n3,4\n')).rejects.toThrow('a quotation mark is not closed');
  });

  it('without any byte is empty', async () => {
    await expect(read('a.csv', '')).rejects.toThrow('a.csv is empty.');
  });
});

describe('JSON Lines', () => {
  it('keeps integers that a number cannot represent', async () => {
    const { values } = await read('a.jsonl', '\uFEFF{"id":12345678901234567890,"x":{"y":0.1}}\n');
    expect(values).toEqual([{ id: '12345678901234567890', x: { y: 0.1 } }]);
  });

  it('counts blank lines and marks those that are no objects', async () => {
    const { rows } = await read('a.jsonl', '{"a":1}\n\n[1]\nno\n');
    expect(rows.map(({ number, fault }) => [number, fault])).toEqual([
      [1, undefined],
      [3, 'the line is not a JSON object'],
      [4, 'the line is not valid JSON'],
    ]);
  });
});

describe('a file of another kind', () => {
  it.each([
    ['a.xlsx', Buffer.from('PK\u0003\u0004xx'), 'a zip archive'],
    ['a.csv', Buffer.from([0x1f, 0x8b, 8, 0]), 'a gzip archive'],
    ['a.json', Buffer.from('[{"a":1}]'), 'one JSON array'],
    ['a.html', Buffer.from('<table>'), 'XML or HTML'],
    ['a.parquet', Buffer.from('a,b\n'), 'is not a Parquet file'],
  ])('%s is named', async (name, content, what) => {
    await expect(read(name, content)).rejects.toThrow(what);
  });
});
