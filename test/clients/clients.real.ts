import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchEndpoints } from '../../src/core/batch.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { installNode, installPython, pythonIn } from '../support/install-packages.ts';
import type { Installed } from '../support/install-packages.ts';
import { runCells } from '../support/run-cells.ts';
import type { CellsResult } from '../support/run-cells.ts';
import { startWeatherModel } from '../sdk/matrix/weather-model.ts';
import { packageCutoff, programs } from './programs.ts';
import type { Program } from './programs.ts';
import { tableRowsFor, replaceRows } from './table.ts';

// Published third-party programs with one server. The table of docs/clients.md lists what works: OFFPEAK_RECORD=1
// writes it;
// otherwise the table must match the results.

const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'offpeak-clients');
const page = pathOf('../../docs/clients.md');

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
    installed = await install(program);
    if ('missing' in installed) console.warn(`SKIPPED: ${program.name}, because ${installed.missing}.`);
  });

  it('runs its cells', async ({ skip }) => {
    if ('missing' in installed) return skip(installed.missing);
    const { cells, end } = await start(program, installed.folder);
    const wrong = [...cells].flatMap(([name, error]) => (error === null ? [] : [`${name}: ${error}`]));
    expect(wrong.join('\n\n')).toBe('');
    expect(cells.size, end).toBeGreaterThan(0);
    if (!program.checkout) seen.set(program.name, [...cells.keys()]);
  });
});

it('matches docs/clients.md', ({ skip }) => {
  if (seen.size === 0) return skip('no client could be had');
  const told = readFileSync(page, 'utf8');
  if (process.env['OFFPEAK_RECORD'] === '1') return writeFileSync(page, replaceRows(told, seen));
  const rows = [...seen].flatMap(([name, cells]) => tableRowsFor(name, cells));
  console.log(rows.join('\n'));
  expect(rows.filter((row) => !told.includes(row))).toEqual([]);
});

async function install({ script, packages, checkout }: Program): Promise<Installed> {
  if (checkout && !existsSync(join(process.env[checkout.variable] ?? '', checkout.file)))
    return { missing: `${checkout.variable} does not name a folder with ${checkout.file}` };
  return script.endsWith('.py')
    ? installPython(
        cache,
        Object.entries(packages).map(([name, version]) => `${name}==${version}`),
        packageCutoff,
      )
    : installNode(cache, packages, packageCutoff);
}

/** Runs a program in a temporary home folder. */
async function start({ script, checkout }: Program, folder: string): Promise<CellsResult> {
  const home = mkdtempSync(join(tmpdir(), 'offpeak-client-'));
  const env = {
    HOME: home,
    TMPDIR: home,
    PYTHONPATH: pathOf('../sdk/python'),
    ...(checkout && { CHECKOUT: process.env[checkout.variable]! }),
  };
  const { url, key } = running;
  const run = (command: string, path: string) =>
    runCells(command, [path], { url, key, env, limitMs: 400_000 });
  try {
    if (script.endsWith('.py')) return await run(pythonIn(folder), pathOf(`programs/${script}`));
    // Node resolves packages from the location of the module.
    cpSync(pathOf('programs'), join(folder, 'programs'), { recursive: true });
    return await run(process.execPath, join(folder, 'programs', script));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
