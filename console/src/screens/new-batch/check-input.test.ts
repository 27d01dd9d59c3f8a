import { describe, expect, it } from 'vitest';
import { InputCheck } from './check-input.ts';

const line = (id: string, more: object = {}) =>
  JSON.stringify({
    custom_id: id,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'm', messages: [{ role: 'user', content: 'Zoë' }], ...more },
  });

function check(text: string, limits = { requests: 100, bytes: 1e6, lineBytes: 1e5 }, size = 11) {
  const input = new InputCheck(limits);
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) input.push(bytes.slice(at, at + size));
  input.end();
  return { report: input.report(), bytes };
}

describe('InputCheck', () => {
  it('counts requests, models and tokens', () => {
    const { report, bytes } = check(`${line('a')}\n\n${line('b', { model: 'n' })}\n${line('c')}`);
    expect(report).toMatchObject({
      requests: 3,
      endpoint: '/v1/chat/completions',
      models: { m: 2, n: 1 },
      faultCount: 0,
      parts: [{ start: 0, end: bytes.length, requests: 3 }],
    });
    expect(report.tokens).toBeGreaterThan(0);
  });

  it('names line, custom_id and field of a fault', () => {
    const { report } = check(`${line('a')}\n{"broken\n${line('a')}\n${line('d', { temperature: 'hot' })}\n`);
    expect(report.faults).toMatchObject([
      { line: 2, code: 'invalid_json_line' },
      { line: 3, code: 'duplicate_custom_id' },
      { line: 4, custom_id: 'd', param: 'body.temperature' },
    ]);
    expect(report.faultCount).toBe(3);
  });

  it('reports unknown fields with their count and what may be meant', () => {
    const { report } = check(
      `${line('a', { max_token: 1 })}\n${line('b', { max_token: 2 })}\n${line('c')}\n`,
    );
    expect(report.faultCount).toBe(0);
    expect(report.warnings).toMatchObject([
      { field: 'max_token', suggestion: 'max_tokens', count: 2, line: 1 },
    ]);
  });

  it('cuts a large file into parts of whole lines, which together are the file', () => {
    const lines = Array.from({ length: 7 }, (_, at) => line(`id-${at}`));
    const text = `${lines.slice(0, 3).join('\n')}\n\n\n${lines.slice(3).join('\r\n')}\n`;
    const { report, bytes } = check(text, { requests: 3, bytes: 1e6, lineBytes: 1e5 });
    expect(report.parts.map(({ requests }) => requests)).toEqual([3, 3, 1]);
    expect(report.parts.map(({ linesBefore }) => linesBefore)).toEqual([0, 5, 8]);
    const cut = report.parts.map(({ start, end }) => new TextDecoder().decode(bytes.slice(start, end)));
    expect(cut.join('')).toBe(text);
    for (const part of cut)
      for (const each of part.trim().split(/\s*\n\s*/)) expect(() => JSON.parse(each)).not.toThrow();
    const length = new TextEncoder().encode(lines[0]).length + 1;
    const bySize = check(lines.join('\n'), { requests: 100, bytes: 2 * length, lineBytes: 1e5 }).report;
    expect(bySize.parts.map(({ requests }) => requests)).toEqual([2, 2, 2, 1]);
  });

  it('reports an empty file, and another type of file once', () => {
    expect(check('\n \n').report.faults).toMatchObject([{ code: 'empty_file' }]);
    expect(check('PK\u0003\u0004 zip').report.faultCount).toBe(1);
  });
});
