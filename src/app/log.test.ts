import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { forPeople } from './log.ts';

it('shows a line to people with its time, its level, its words and its fields', () => {
  const line = `${JSON.stringify({ level: 40, time: 1_800_000_000_000, model: 'qwen', msg: 'It is away.' })}\n`;
  const shown = stripVTControlCharacters(forPeople()(line));
  expect(shown).toMatch(/^\[\d\d:\d\d:\d\d\] WARN: It is away\. \{"model":"qwen"\}\n$/);
});
