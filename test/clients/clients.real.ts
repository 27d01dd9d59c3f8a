import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchEndpoints } from '../../src/core/batch.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { installNode, installPython, pythonOf } from '../support/install-packages.ts';
import type { Installed } from '../support/install-packages.ts';
import { runCells } from '../support/run-cells.ts';
import { startWeatherModel } from '../sdk/matrix/weather-model.ts';
import { packagesBefore, programs } from './programs.ts';
import type { Program } from './programs.ts';
import { rowsOf, withRows } from './table.ts';

// Programs that nobody here wrote for, as they were published, against one server. What works is the table of
// docs/clients.md: OFFPEAK_RECORD=1 writes it, and without that it must say what is seen.

const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'offpeak-clients');
const page = pathOf('../../docs/clients.md');

let running: RunningApp;
let upstream: FakeUpstream;
const seen = new Map<string, string[]>();

beforeAll(async () => {
  upstream = await startWeatherModel();
  const weather = { ...testModel(upstreamEngine(upstream.url)), id: 'weather', aliases: [] };
  // LiteLLM insists on Unix seconds.
  running = await startApp({
    models: [testModel(), weather],
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

  it('does what its users want', async ({ skip }) => {
    if ('missing' in installed) return skip(installed.missing);
    const { cells, end } = await start(program, installed.folder);
    const wrong = [...cells].flatMap(([name, error]) => (error === null ? [] : [`${name}: ${error}`]));
    expect(wrong.join('\n\n')).toBe('');
    expect(cells.size, end).toBeGreaterThan(0);
    seen.set(program.name, [...cells.keys()]);
  });
});

it('is what docs/clients.md says', () => {
  const told = readFileSync(page, 'utf8');
  if (process.env['OFFPEAK_RECORD'] === '1') return writeFileSync(page, withRows(told, seen));
  const rows = [...seen].flatMap(([name, cells]) => rowsOf(name, cells));
  console.log(rows.join('\n'));
  expect(rows.filter((row) => !told.includes(row))).toEqual([]);
});

const install = ({ script, packages }: Program) =>
  script.endsWith('.py')
    ? installPython(
        cache,
        Object.entries(packages).map(([name, version]) => `${name}==${version}`),
        packagesBefore,
      )
    : installNode(cache, packages, packagesBefore);

function start({ script }: Program, folder: string) {
  if (script.endsWith('.py')) {
    const env = { PYTHONPATH: pathOf('../sdk/python') };
    return runCells(pythonOf(folder), [pathOf(`programs/${script}`)], { ...running, env });
  }
  // A module finds packages from where it stands.
  cpSync(pathOf('programs'), join(folder, 'programs'), { recursive: true });
  return runCells(process.execPath, [join(folder, 'programs', script)], running);
}
