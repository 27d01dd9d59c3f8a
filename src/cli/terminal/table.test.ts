import { describe, expect, it } from 'vitest';
import { drawTable } from './table.ts';

const head = ['id', 'status', 'completed', 'model', 'empty', 'waiting', 'file'];
const rows = [
  [
    'batch_0199f3a2b4c57d8e9f00112233445566',
    'in_progress',
    '4000/10000',
    'qwen3-32b',
    '',
    '',
    'evening.jsonl',
  ],
  ['batch_0199f3a2b4c57d8e9f00112233445577', 'validating', '0/10000', 'qwen3-32b', '', 'queued, 4 ahead', ''],
];
const linesAt = (width: number) => drawTable(head, rows, width, (title) => title).split('\n');

describe('a table', () => {
  it('is whole where there is room, without empty columns', () => {
    const lines = linesAt(200);
    expect(lines[1]).toMatch(/^│ id +│ status +│ completed +│ model +│ waiting +│ file +│$/);
    expect(lines).toHaveLength(6);
    expect(lines.join('\n')).not.toContain('…');
  });

  it('makes the widest cells narrower, but not what names the thing', () => {
    const lines = linesAt(110);
    expect(lines.join('\n')).toContain('│ queued, 4 … │');
    for (const [id] of rows) expect(lines.join('\n')).toContain(`│ ${id} │`);
  });

  it.each([40, 80])('becomes paragraphs in %d columns', (width) => {
    const lines = linesAt(width);
    expect(lines[0]).toBe(rows[0]![0]);
    expect(lines.join('\n')).toContain('\n  status in_progress');
    expect(lines.join('\n')).toContain('waiting queued, 4 ahead');
  });

  it('is never wider than the terminal', () => {
    for (let width = 40; width <= 200; width++)
      for (const line of linesAt(width)) expect(line.length, `${width}: ${line}`).toBeLessThanOrEqual(width);
  });
});
