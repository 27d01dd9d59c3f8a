import { expect, it } from 'vitest';
import { parseCreateMessageBatch } from './create.ts';

const limits = { requests: 10, inlineBytes: 1 << 20 };

/** The lines that a body becomes. */
function linesOf(text: string): string[] {
  const steps = parseCreateMessageBatch(new TextEncoder().encode(text), limits);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value.map((line) => new TextDecoder().decode(line));
  }
}

it('converts each request to a line, with unchanged values', () => {
  const params = '{ "max_tokens" : 1.0, "größe":"日本語 \\u00e4 😀" }';
  const text = `{"requests":[{"params": ${params} ,"custom_id" : "süß"}, {"\\u0063ustom_id":"b"}, {}, 5]}`;
  expect(linesOf(text)).toEqual([
    `{"method":"POST","url":"/v1/messages","body":${params},"custom_id":"süß"}`,
    '{"method":"POST","url":"/v1/messages","custom_id":"b"}',
    '{"method":"POST","url":"/v1/messages"}',
    '5',
  ]);
});

it('names unknown fields of a request', () => {
  const unknown = '{"custom_id":"a","größe":1,"\\u00e4":2,"params":{},"url":"/v1/x"}';
  const refused = expect.objectContaining({
    faults: ['größe', 'ä', 'url'].map((name) => expect.objectContaining({ param: placeOf(name) })),
  });
  expect(() => linesOf(`{"requests":[${unknown}]}`)).toThrow(refused);
});

function placeOf(name: string): unknown {
  return expect.stringMatching(new RegExp(`^requests\\[0\\].*${name}`));
}
