import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { silentCli } from '../../../test/cli/support/run-cli.ts';
import { createTerminal } from '../terminal/terminal.ts';
import { writeOut } from './write-out.ts';

function place() {
  const cwd = mkdtempSync(join(tmpdir(), 'offpeak-write-out-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const terminal = createTerminal({
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
  });
  return { path: join(cwd, 'results.jsonl'), cli: { ...silentCli(), terminal, cwd } };
}

/** Fails with `code` when the beginning has reached the file. */
async function* brokenOff(path: string, code: string) {
  yield Buffer.from('beginning');
  await vi.waitUntil(() => existsSync(path) && readFileSync(path, 'utf8') === 'beginning');
  throw Object.assign(new Error(code), { code });
}

it('leaves no beginning of a file in the way of the same command where the disk is full', async () => {
  const { path, cli } = place();
  await expect(writeOut(brokenOff(path, 'ENOSPC'), { output: path }, cli)).rejects.toThrow('ENOSPC');
  expect(existsSync(path)).toBe(false);
});

it('keeps what came before another fault', async () => {
  const { path, cli } = place();
  await expect(writeOut(brokenOff(path, 'ECONNRESET'), { output: path }, cli)).rejects.toThrow('ECONNRESET');
  expect(readFileSync(path, 'utf8')).toBe('beginning');
});

it('removes no file that was there before', async () => {
  const { path, cli } = place();
  writeFileSync(path, 'earlier');
  const how = { output: path, force: true };
  await expect(writeOut(brokenOff(path, 'ENOSPC'), how, cli)).rejects.toThrow('ENOSPC');
  expect(existsSync(path)).toBe(true);
});
