import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createTerminal } from '../terminal.ts';
import { announceAway } from './announce.ts';

describe('announceAway', () => {
  it('warns of each server that takes nothing, in a line', () => {
    const stderr = new PassThrough();
    const terminal = createTerminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr });
    const away = { model: 'qwen', server: 'gpu-1:8000/v1', message: 'It cannot be\u001b[2J reached.' };
    announceAway(
      [
        { ...away, servers: 1 },
        { ...away, server: 'gpu-2/v1', servers: 3 },
      ],
      terminal,
    );
    const [first, second] = String(stderr.read()).split('\n');
    expect(first).toMatch(/^Warning: qwen: It cannot be.* reached\. \(gpu-1:8000\/v1\)\. It is tried again/);
    expect(first).not.toContain('\u001b');
    expect(second).toContain('(gpu-2/v1, one of 3 servers)');
  });
});
