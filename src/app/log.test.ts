import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { pino } from 'pino';
import { prettyLine, lineForm } from './log.ts';

it('writes levels by name and times as ISO 8601', () => {
  const lines: string[] = [];
  pino({ ...lineForm, base: null }, { write: (text) => void lines.push(text) }).warn(
    { model: 'qwen' },
    'Away.',
  );
  expect(JSON.parse(lines[0]!)).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    model: 'qwen',
    msg: 'Away.',
  });
});

it('formats a line for terminals with time, level, message and fields', () => {
  const line = `${JSON.stringify({ level: 'warn', time: '2027-01-15T08:00:00.000Z', model: 'qwen', msg: 'It is away.' })}\n`;
  const shown = stripVTControlCharacters(prettyLine()(line));
  expect(shown).toMatch(/^\[\d\d:\d\d:\d\d\] WARN: It is away\. \{"model":"qwen"\}\n$/);
});
