import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createMeter, layOut, type ProgressState } from './meter.ts';
import { createTerminal } from './terminal.ts';

const measured: ProgressState = {
  head: 'in_progress',
  done: 4000,
  total: 10_000,
  details: [
    '4000/10000',
    '4m 10s left',
    '',
    '3 failed',
    '120/min',
    '0.0012 USD',
    'Others of your org run before it.',
  ],
  step: '4',
};

const lineAt = (width: number, more: Partial<ProgressState> = {}) =>
  Object.values(layOut({ ...measured, ...more }, width)).join('');

describe('a meter on a terminal', () => {
  it.each([
    [40, 'in_progress ███░░░░░░  40% | 4000/10000'],
    [80, 'in_progress █████░░░░░░░░░  40% | 4000/10000 | 4m 10s left | 3 failed | 120/min'],
    [
      200,
      'in_progress ███████████░░░░░░░░░░░░░░░░░  40% | 4000/10000 | 4m 10s left | 3 failed | 120/min | 0.0012 USD | Others of your org run before it.',
    ],
  ])('has what there is room for in %d columns', (width, line) => {
    expect(lineAt(width)).toBe(line);
  });

  it('never is wider than the terminal, and never full before its end', () => {
    for (let width = 20; width <= 200; width++) {
      expect(lineAt(width).length, `${width}`).toBeLessThan(width);
      expect(lineAt(width, { head: 'a-very-long-name-of-a-model-file.gguf' }).length).toBeLessThan(width);
      const almost = lineAt(width, { done: 9999 });
      expect(almost).toContain('99%');
      expect(almost).toContain('░');
    }
  });

  it('is as wide as the terminal is now', () => {
    const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 200 });
    const nothing = () => new PassThrough();
    const meter = createMeter(createTerminal({ stdin: nothing(), stdout: nothing(), stderr }));
    const draw = (columns: number, done: number) => {
      stderr.columns = columns;
      meter.update({ ...measured, done });
      meter.stop();
      return stripVTControlCharacters(String(stderr.read()))
        .split(/[\r\n]/)
        .filter(Boolean)
        .at(-1);
    };
    expect(draw(200, 4000)).toMatch(/Others of your org run before it\.$/);
    expect(draw(40, 5000)).toBe('in_progress ████░░░░░  50% | 4000/10000');
  });
});

describe('a meter in a pipe', () => {
  it('is a line for each step', () => {
    const stderr = new PassThrough();
    const meter = createMeter(
      createTerminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr }),
    );
    for (const step of ['4', '4', '5']) meter.update({ ...measured, details: ['x\u001b[2J', ''], step });
    expect(String(stderr.read())).toBe('in_progress x\nin_progress x\n');
  });
});
