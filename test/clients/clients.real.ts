import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchEndpoints } from '../../src/core/batch.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import type { Installed } from '../support/install-packages.ts';
import { startWeatherModel } from '../sdk/matrix/weather-model.ts';
import { programs } from './programs.ts';
import { installProgram, runProgram } from './run-program.ts';
import { clientTable } from './table.ts';

// Published third-party programs with one server. The table of docs/clients.md lists what works: OFFPEAK_RECORD=1
// writes it;
// otherwise the table must match the results.

const page = fileURLToPath(new URL('../../docs/clients.md', import.meta.url));

let running: RunningApp;
let upstream: FakeUpstream;
const seen = new Map<string, string[]>();

beforeAll(async () => {
  upstream = await startWeatherModel();
  const weather = { ...testModel(upstreamEngine(upstream.url)), id: 'weather', aliases: ['gpt-6-sol'] };
  const thinker = { ...weather, id: 'thinker', aliases: [], engine: { ...weather.engine, model: 'thinker' } };
  // LiteLLM requires Unix seconds.
  running = await startApp({
    models: [testModel(), weather, thinker],
    batch: { endpoints: batchEndpoints, dates: 'unix' },
  });
});
afterAll(async () => {
  await running?.stop();
  await upstream?.close();
});

describe.each(programs)('$name', (program) => {
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
    if (!program.checkout) seen.set(program.name, [...cells.keys()]);
  });
});

it('matches docs/clients.md', ({ skip }) => {
  if (seen.size === 0) return skip('no client could be had');
  const told = readFileSync(page, 'utf8');
  if (process.env['OFFPEAK_RECORD'] === '1') return writeFileSync(page, clientTable.replace(told, seen));
  const rows = [...seen].flatMap(([name, cells]) => clientTable.rowsFor(name, cells));
  console.log(rows.join('\n'));
  expect(rows.filter((row) => !told.includes(row))).toEqual([]);
});
