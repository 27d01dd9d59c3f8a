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
    const line = readLine(Buffer.from(text));
    expect(line.customId).toBe('a');
    expect(line.prepared.request()).toMatchObject({ text: body, value: JSON.parse(body) });
  });

  it('is not confused by a custom_id', () => {
    const customId = '","body":{"model":"x"}}\\';
    const text = `{"custom_id":${JSON.stringify(customId)},${start},"body":${body}}`;
    const line = readLine(Buffer.from(text));
    expect([line.customId, line.prepared.request().text]).toEqual([customId, body]);
  });

  it('is read again after its body was released', () => {
    const line = readLine(Buffer.from(`{"custom_id":"a",${start},"body":${body}}`));
    const { prepared: asked } = line;
    if (asked.kind !== 'chat') throw new Error(asked.kind);
    const request = asked.request();
    const before = request.value;
    expect(request.value).toBe(before);
    request.release!();
    expect(request.value).not.toBe(before);
    expect(request.value).toEqual(before);
    line.body.release!();
    expect([request.text, asked.chat.model]).toEqual([body, 'm']);
  });

  it('rejects what is not a line', () => {
    expect(() => readLine(Buffer.from('{"custom_id":5,"body":{}}'))).toThrow(TypeError);
    expect(() => readLine(Buffer.from('{"custom_id":"a"'))).toThrow(SyntaxError);
  });
});
