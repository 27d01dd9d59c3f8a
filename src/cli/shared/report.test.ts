import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { Unreachable, untrusted } from '../../client/errors.ts';
import { createTerminal } from '../terminal/terminal.ts';
import { reportError } from './report.ts';

it.each([
  ['connection refused', 'Start a server with'],
  [untrusted, 'NODE_EXTRA_CA_CERTS'],
])('advises what helps where %s', (reason, advice) => {
  const stderr = new PassThrough();
  const terminal = createTerminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr });
  expect(reportError(new Unreachable('https://box', reason), { terminal }, false)).toBe(5);
  const [told, hint] = String(stderr.read()).split('\n');
  expect(told).toContain(`https://box cannot be reached: ${reason}`);
  expect(hint).toContain(advice);
});

it('says what to do where a file of ours finds the disk full', () => {
  const stderr = new PassThrough();
  const terminal = createTerminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr });
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  expect(reportError(full, { terminal }, false)).toBe(1);
  expect(String(stderr.read())).toBe(
    'Error: The disk is full: the output is incomplete.\nFree some space and run the command again.\n',
  );
});
