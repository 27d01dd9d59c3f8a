import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTable } from '../open-table.ts';
import { openWriter } from '../open-writer.ts';
import type { AddedColumn, Table, TableFormat, TableRow } from '../table.ts';
import { readMetadata } from './parquet-file.ts';

const tables = fileURLToPath(new URL('../../../../test/cli/tables/', import.meta.url));
const names = ['arrow-snappy', 'arrow-zstd-v2', 'arrow-lz4', 'arrow-int96', 'duckdb'];

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'offpeak-parquet-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function rowsOf(table: Table): Promise<TableRow[]> {
  const rows: TableRow[] = [];
  for await (const batch of table.read()) rows.push(...batch);
  return rows;
}

const read = async (path: string, exact = false) => rowsOf(await openTable(path, { exact }));
const valuesOf = async (path: string, exact = false) => (await read(path, exact)).map(({ values }) => values);

/** Writes the rows of a table with more columns. */
async function copy(from: string, to: string, added: AddedColumn[] = [], cells: unknown[] = []) {
  const format = to.split('.').at(-1) as TableFormat;
  const source = await openTable(from, { exact: format === 'parquet' });
  const bytes: Uint8Array[] = [];
  const columns = (source.columns ?? []).map((name): AddedColumn => ({ name, type: 'string' }));
  const writer = await openWriter({
    format,
    source,
    sourcePath: from,
    columns,
    added,
    raw: false,
    emit: (chunk) => void bytes.push(Buffer.from(chunk)),
  });
  for (const row of await rowsOf(source)) await writer.write(row, cells);
  await writer.finish();
  writeFileSync(to, Buffer.concat(bytes));
}

describe('cells of Parquet', () => {
  it.each(['arrow-snappy', 'arrow-zstd-v2', 'arrow-lz4'])('of %s keep every value', async (name) => {
    const rows = await valuesOf(join(tables, `${name}.parquet`));
    expect(rows[0]).toEqual({
      i64: 1,
      u64: 1,
      u32: 1,
      i8: 1,
      f: 1.5,
      f16: 1.5,
      b: true,
      s: 'ü 日本 🎉',
      ls: 'x',
      cat: 'x',
      bin: 'AP8=',
      d: '2026-11-28',
      tms: '1970-01-01T00:00:00',
      tus: '1970-01-01T00:00:00Z',
      tns: '1970-01-01T00:00:00Z',
      time: '00:00:00',
      dur: 0,
      dec: '12.30',
      dec38: '12345678901234567890123456.123456789012',
      fix: 'YWJjZA==',
      list: [1, 2],
      lls: [['a'], []],
      st: { a: 1, b: 'x' },
      lst: [{ a: 1, d: '1.50' }],
      map: { k: 1 },
      imap: { 1: 'x' },
      null: null,
    });
    expect(rows[1]).toMatchObject({
      i64: '1152921504606846977',
      u64: '18446744073709551615',
      u32: 4294967295,
      f: null,
      d: '1960-01-01',
      tns: '2009-02-13T23:31:30.123456789Z',
      time: '00:00:00.000001',
      dec: '-0.01',
    });
    expect(new Set(Object.values({ ...rows[2], f16: null, ls: null, cat: null }))).toEqual(new Set([null]));
    expect(rows[3]).toMatchObject({
      tus: '1969-12-31T23:59:59.999999Z',
      list: [null, 3],
      lls: [null, ['b', null]],
      st: { a: 3, b: null },
      map: { a: null, b: 2 },
    });
  });

  it('of DuckDB and of INT96', async () => {
    expect((await valuesOf(join(tables, 'duckdb.parquet')))[1]).toMatchObject({
      id: 1,
      h: 1,
      price: '0.333',
      u: expect.stringMatching(/^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/),
      d: '2026-01-02',
      ts: '2026-01-01T00:00:01',
      l: [1, 2],
      s: { a: 1, b: 'x' },
      t: '12:00:01',
      e: 'a',
      j: { x: 1 },
    });
    expect((await valuesOf(join(tables, 'arrow-int96.parquet')))[1]).toMatchObject({
      tus: '2009-02-13T23:31:30.123456',
    });
  });
});

describe('a copy of Parquet', () => {
  it.each(names)('of %s has the same types, values and levels', async (name) => {
    const [from, to] = [join(tables, `${name}.parquet`), join(folder, 'out.parquet')];
    await copy(from, to, [{ name: 'answer', type: 'string' }], ['yes']);
    const strip = (rows: Record<string, unknown>[]) =>
      rows.map((row) => Object.fromEntries(Object.entries(row).filter(([column]) => column !== 'answer')));
    expect(strip(await valuesOf(to))).toEqual(await valuesOf(from));
    // INT96 becomes a timestamp.
    if (name !== 'arrow-int96') expect(strip(await valuesOf(to, true))).toEqual(await valuesOf(from, true));
    const typesOf = (path: string) =>
      readMetadata(path, path)
        .schema.slice(1)
        .map(({ name: column, type, type_length, repetition_type, converted_type, scale, precision }) =>
          type === 'INT96'
            ? [column, 'INT64']
            : [column, type, type_length, repetition_type, converted_type, scale, precision].slice(
                0,
                name === 'arrow-int96' ? 2 : undefined,
              ),
        );
    expect(typesOf(to).slice(0, -1)).toEqual(typesOf(from));
    expect((await valuesOf(to))[0]!['answer']).toBe('yes');
  });

  it('writes added columns with their types, and null for other values', async () => {
    const added: AddedColumn[] = [
      { name: 'text', type: 'string' },
      { name: 'int', type: 'integer' },
      { name: 'num', type: 'number' },
      { name: 'bool', type: 'boolean' },
      { name: 'json', type: 'json' },
      { name: 'vec', type: 'vector' },
      { name: 'wrong', type: 'integer' },
    ];
    const cells = ['é', 7, 0.5, true, { a: [1] }, [0.25, 1], 'seven'];
    const to = join(folder, 'out.parquet');
    await copy(join(tables, 'arrow-int96.parquet'), to, added, cells);
    expect((await valuesOf(to))[0]).toMatchObject({
      text: 'é',
      int: 7,
      num: 0.5,
      bool: true,
      json: '{"a":[1]}',
      vec: [0.25, 1],
      wrong: null,
    });
  });

  it('as JSON Lines and CSV has the cells', async () => {
    const from = join(tables, 'arrow-int96.parquet');
    await copy(from, join(folder, 'out.jsonl'));
    await copy(from, join(folder, 'out.csv'));
    const text = (name: string) => readFileSync(join(folder, name), 'utf8').split('\n');
    expect(text('out.jsonl')[1]).toBe(
      '{"i64":"1152921504606846977","tus":"2009-02-13T23:31:30.123456","s":"a\\nb"}',
    );
    expect(text('out.csv')[1]).toBe('1,1970-01-01T00:00:00,ü 日本 🎉\r');
  });
});

describe('a large Parquet file', () => {
  const count = 20_000;

  it('is read in batches, across pages and row groups', async () => {
    const path = join(folder, 'large.parquet');
    const numbers = Array.from({ length: count }, (_, row) => row);
    const buffer = parquetWriteBuffer({
      columnData: [
        { name: 'n', data: numbers, type: 'INT32' },
        { name: 's', data: numbers.map((n) => (n % 7 === 0 ? null : `text ${n % 100}`)), type: 'STRING' },
        { name: 't', data: numbers.map((n) => `unique ${n}`), type: 'STRING' },
      ],
      rowGroupSize: 7000,
      pageSize: 3000,
    });
    writeFileSync(path, Buffer.from(buffer));
    const table = await openTable(path);
    let next = 0;
    let largest = 0;
    for await (const batch of table.read()) {
      largest = Math.max(largest, batch.length);
      for (const { number, values } of batch) {
        const s = next % 7 === 0 ? null : `text ${next % 100}`;
        if (
          number !== next + 1 ||
          values['n'] !== next ||
          values['s'] !== s ||
          values['t'] !== `unique ${next}`
        )
          throw new Error(`row ${next}: ${JSON.stringify(values)}`);
        next++;
      }
    }
    expect([next, table.rows, largest <= 1000]).toEqual([count, count, true]);
  });
});

describe('the writer of Parquet', () => {
  const rowBytes = 1_048_576;

  async function writeRows(count: number, valueOf: (row: number) => Uint8Array) {
    const from = join(folder, 'source.parquet');
    writeFileSync(
      from,
      Buffer.from(parquetWriteBuffer({ columnData: [{ name: 's', data: ['x'], type: 'STRING' }] })),
    );
    const chunks: Buffer[] = [];
    const writer = await openWriter({
      format: 'parquet',
      source: await openTable(from, { exact: true }),
      sourcePath: from,
      columns: [{ name: 's', type: 'string' }],
      added: [],
      raw: false,
      emit: (bytes) => void chunks.push(Buffer.from(bytes)),
    });
    for (let row = 0; row < count; row++)
      await writer.write({ number: row + 1, values: { s: valueOf(row) } }, []);
    return {
      writer,
      finish: async () => {
        await writer.finish();
        const path = join(folder, 'out.parquet');
        writeFileSync(path, Buffer.concat(chunks));
        return path;
      },
    };
  }

  it('keeps no values of the row groups that it has written', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const values: WeakRef<ArrayBufferLike>[] = [];
    const { writer } = await writeRows(80, (row) => {
      const value = new Uint8Array(rowBytes).fill(97 + (row % 20));
      values.push(new WeakRef(value.buffer));
      return value;
    });
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    // The rows of at most one group, of ten.
    expect(values.filter((value) => value.deref() !== undefined).length).toBeLessThan(10);
    await writer.finish();
  });

  it('writes bounds of long values that are short and true', async () => {
    const { finish } = await writeRows(2, (row) => new Uint8Array(1000).fill(row === 0 ? 98 : 97));
    const [group] = readMetadata(await finish(), 'out.parquet').row_groups;
    const statistics = group!.columns[0]!.meta_data!.statistics!;
    expect(statistics).toMatchObject({
      min_value: 'a'.repeat(16),
      max_value: `${'b'.repeat(15)}c`,
      is_min_value_exact: false,
      is_max_value_exact: false,
    });
  });
});

describe('a damaged Parquet file', () => {
  const whole = readFileSync(join(tables, 'arrow-snappy.parquet'));

  it.each([
    ['cut off', whole.subarray(0, 5000), 'it has no Parquet footer'],
    ['with a damaged footer', Buffer.concat([whole.subarray(0, -100), whole.subarray(-8)]), 'is damaged'],
    ['encrypted', Buffer.concat([whole.subarray(0, -4), Buffer.from('PARE')]), 'is encrypted'],
  ])('is rejected when %s', async (_, bytes, message) => {
    const path = join(folder, 'bad.parquet');
    writeFileSync(path, bytes);
    await expect(openTable(path)).rejects.toThrow(message);
  });

  it('names the row up to which it was read', async () => {
    const path = join(folder, 'bad.parquet');
    writeFileSync(path, Buffer.from(whole).fill(0xff, 4, 600));
    await expect(read(path)).rejects.toThrow('bad.parquet cannot be read after row 0');
  });
});
