import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import type { Installed } from '../support/install-packages.ts';
import { batchPrograms } from './batch-programs.ts';
import { installProgram, runProgram } from './run-program.ts';
import { batchTable } from './table.ts';

// Published clients of batches with one server, as it is by default. Each runs a batch of two requests that succeed and
// two that fail, reads the results, lists its batches and cancels one. OFFPEAK_RECORD=1 writes the table of docs/clients.md;
// otherwise the table must match the results.

const page = fileURLToPath(new URL('../../docs/clients.md', import.meta.url));

let running: RunningApp;
const seen = new Map<string, readonly string[]>();

beforeAll(async () => void (running = await startApp()));
afterAll(() => running?.stop());

describe.each(batchPrograms)('$name', (program) => {
  let installed: Installed;
  beforeAll(async () => {
    installed = await installProgram(program);
    if ('missing' in installed) console.warn(`SKIPPED: ${program.name}, because ${installed.missing}.`);
  });

  it('runs its cells', async ({ skip }) => {
    if ('missing' in installed) return skip(installed.missing);
    const { cells, end } = await runProgram(program, installed.folder, running);
    const wrong = [...cells].flatMap(([name, error]) => (error === null ? [] : [`${name}: ${error}`]));
    expect(wrong.join('\n\n')).toBe('');
    expect(cells.size, end).toBeGreaterThan(0);
    seen.set(program.name, [...cells.keys()]);
  });
});

it('matches docs/clients.md', ({ skip }) => {
  if (seen.size === 0) return skip('no client could be had');
  const told = readFileSync(page, 'utf8');
  if (process.env['OFFPEAK_RECORD'] === '1') return writeFileSync(page, batchTable.replace(told, seen));
  const rows = [...seen].flatMap(([name, cells]) => batchTable.rowsFor(name, cells));
  console.log(rows.join('\n'));
  expect(rows.filter((row) => !told.includes(row))).toEqual([]);
});
