import { describe, expect, it } from 'vitest';
import { readAnswers, toCsv } from './answers.ts';

const line = (id: string, content: string) =>
  JSON.stringify({
    custom_id: id,
    response: { body: { choices: [{ message: { role: 'assistant', content } }] } },
  });

/** Stream of a text in pieces, which cut characters and lines. */
function streamOf(text: string, size = 7): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
}

describe('answers as a table', () => {
  it('has a column for each member, and one for answers that are texts', async () => {
    const text = [
      line('a', '{"name":"Zoë","age":3}'),
      line('b', 'just text'),
      line('c', '{"tags":[1,2]}'),
      '',
    ];
    const table = await readAnswers(streamOf(text.join('\n')));
    expect(table.columns).toEqual(['name', 'age', 'answer', 'tags']);
    expect(table.rows.map(({ values }) => values)).toEqual([
      { name: 'Zoë', age: 3 },
      { answer: 'just text' },
      { tags: [1, 2] },
    ]);
    expect(table.isPartial).toBe(false);
    expect(toCsv(table)).toBe(
      'custom_id,name,age,answer,tags\r\na,Zoë,3,,\r\nb,,,just text,\r\nc,,,,"[1,2]"\r\n',
    );
  });

  it('defuses formulas in ids, names and values', async () => {
    const text = `${line('=id', '{"=cmd()":"=1+1","n":-5,"t":"-5","u":"+x"}')}\n`;
    const table = await readAnswers(streamOf(text));
    expect(toCsv(table)).toBe("custom_id,'=cmd(),n,t,u\r\n'=id,'=1+1,-5,-5,'+x\r\n");
  });
});
