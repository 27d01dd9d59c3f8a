// The launcher is asked what it becomes by a module that is loaded before it, and that ends it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lean } from '../../bench/support/lean.ts';

const launcher = join(import.meta.dirname, '../../bin/offpeak.cjs');
const folder = mkdtempSync(join(tmpdir(), 'offpeak-lean-'));
const probe = join(folder, 'probe.cjs');

beforeAll(() =>
  writeFileSync(
    probe,
    `const v8 = require('node:v8');
    const { heap_size_limit } = v8.getHeapStatistics();
    const isAgain = process.env.MALLOC_ARENA_MAX !== undefined;
    // As on a large machine, whatever this one is.
    v8.getHeapStatistics = () => ({ heap_size_limit: isAgain ? heap_size_limit : 4 * 2 ** 30 });
    const { pid, execArgv, argv, env } = process;
    const tell = () => process._rawDebug(JSON.stringify({ pid, execArgv, argv: argv.slice(2), env }));
    if (isAgain) tell(), process.exit(0);
    require('node:module').enableCompileCache = () => (tell(), process.exit(0));`,
  ),
);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Became {
  pid: number;
  execArgv: string[];
  argv: string[];
  env: Record<string, string>;
}

async function start(argv: string[], env: Record<string, string> = {}, flags: string[] = []) {
  const child = spawn(process.execPath, [...flags, '--require', probe, launcher, ...argv], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [told] = await Promise.all([text(child.stderr), once(child, 'close')]);
  return { started: child.pid, became: JSON.parse(told) as Became };
}

const isLinux = process.platform === 'linux';

describe.runIf(isLinux)('bin/offpeak.cjs', () => {
  it('becomes a server for which V8 plans no more than it needs, in the same process, with all it was told', async () => {
    const { started, became } = await start(['serve', '--port', '1'], { OFFPEAK_X: 'y' });
    expect(became.pid).toBe(started);
    expect(became.execArgv).toEqual([...lean.flags, '--require', probe]);
    expect(became.argv).toEqual(['serve', '--port', '1']);
    expect(became.env).toEqual({ OFFPEAK_X: 'y', ...lean.env });
  });

  it.each([
    ['another command', ['--help'], {}],
    ['arenas that its operator has set', ['serve'], { MALLOC_ARENA_MAX: '4' }],
    ['a heap that its operator has set', ['serve'], { NODE_OPTIONS: '--max-old-space-size=6000' }],
  ])('stays as it is for %s', async (_, argv, env) => {
    expect((await start(argv, env)).became).toMatchObject({ execArgv: ['--require', probe], argv, env });
  });

  it('stays as it is where it may start nothing', async () => {
    const { became } = await start(['serve'], {}, ['--permission', '--allow-fs-read=*']);
    expect(became.env).toEqual({});
    expect(became.argv).toEqual(['serve']);
  });
});
