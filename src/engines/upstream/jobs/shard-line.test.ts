import { expect, it } from 'vitest';
import { inputLine } from './shard-line.ts';

const lineOf = (body: string) =>
  inputLine({ key: 'req_1_2.ab', path: '/v1/embeddings', body: Buffer.from(body) }).toString();

it('is one line with the request as it was prepared', () => {
  expect(lineOf('{"n": 1.50}')).toBe(
    '{"custom_id":"req_1_2.ab","method":"POST","url":"/v1/embeddings","body":{"n": 1.50}}\n',
  );
});

it('stays one line where the request has several', () => {
  expect(lineOf('{\r\n  "a": "x\\n"\n}')).toBe(
    '{"custom_id":"req_1_2.ab","method":"POST","url":"/v1/embeddings","body":{    "a": "x\\n" }}\n',
  );
});
