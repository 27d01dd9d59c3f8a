import { describe, expect, it } from 'vitest';
import { readLine } from './read-line.ts';

const body = '{"model":"m", "messages":[{"role":"user","content":"} \\" {"}],"seed":12345678901234567890}';
const start = '"method":"POST","url":"/v1/chat/completions"';

describe('readLine', () => {
  it.each([
    ['as most are written', `{"custom_id":"a",${start},"body":${body}}`],
    ['with blanks', ` { "custom_id" : "a" , ${start} , "body" : ${body} } \r`],
    ['with the body first', `{"body":${body},"custom_id":"a",${start}}`],
    ['with the body in the middle', `{"custom_id":"a","body":${body},${start}}`],
    ['with a name spelled otherwise', `{"custom_id":"a",${start},"b\\u006fdy":${body}}`],
  ])('has the body as it stands in a line %s', (_, text) => {
    const line = readLine(text);
    expect(line.customId).toBe('a');
    expect(line.asked.request()).toMatchObject({ text: body, value: JSON.parse(body) });
  });

  it('is not deceived by a custom_id', () => {
    const customId = '","body":{"model":"x"}}\\';
    const text = `{"custom_id":${JSON.stringify(customId)},${start},"body":${body}}`;
    const line = readLine(text);
    expect([line.customId, line.asked.request().text]).toEqual([customId, body]);
  });

  it('refuses what is no line', () => {
    expect(() => readLine('{"custom_id":5,"body":{}}')).toThrow(TypeError);
    expect(() => readLine('{"custom_id":"a"')).toThrow(SyntaxError);
  });
});
