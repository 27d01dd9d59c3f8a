import { describe, expect, it } from 'vitest';
import { parseDirectRequest } from '../direct/parse.ts';
import { checkEmbeddingsRequest } from './request.ts';
import { embeddingsResponse, encodeEmbedding } from './response.ts';

const faultsOf = (value: unknown): string[] =>
  checkEmbeddingsRequest(value).map(({ param, message }) => `${param ?? ''}: ${message}`);

describe('an embeddings request', () => {
  it.each([['text'], [['a', 'b']], [[1, 2, 3]], [[[1, 2], [3]]]])('takes the input %j', (input) => {
    const text = JSON.stringify({ model: 'm', input, encoding_format: 'base64', user: 'u' });
    expect(parseDirectRequest('embeddings', text)).toMatchObject({ value: JSON.parse(text), text });
  });

  it.each([
    ['', 'input: must not be empty'],
    [[], 'input: must not be empty'],
    [[''], 'input[0]: must not be empty'],
    [[[]], 'input[0]: must not be empty'],
    [[-1], 'input[0]: expected at least 0, got -1'],
    [[1.5], 'input[0]: expected a string, a token id or an array of token ids, got 1.5'],
    [['a', 1], 'input[1]: expected a string like the items before it, got 1'],
    [[[1], 'a'], 'input[1]: expected an array of token ids like the items before it, got "a"'],
    [
      { text: 'a' },
      'input: expected a string, an array of strings, an array of token ids or an array of such arrays, got an object',
    ],
  ])('refuses the input %j', (input, expected) => {
    expect(faultsOf({ model: 'm', input })).toEqual([expected]);
  });

  it('refuses too many texts', () => {
    expect(faultsOf({ model: 'm', input: Array.from({ length: 2_049 }, () => 'a') })).toEqual([
      'input: expected at most 2048 items, got 2049',
    ]);
  });

  it('takes one long text as token ids', () => {
    expect(faultsOf({ model: 'm', input: Array.from({ length: 8_192 }, (_, at) => at) })).toEqual([]);
  });

  it('bounds the other fields', () => {
    expect(faultsOf({ input: 'a' })).toEqual(['model: required, but missing']);
    expect(faultsOf({ model: 'm', input: 'a', dimensions: 0 })).toEqual([
      'dimensions: expected at least 1, got 0',
    ]);
    expect(faultsOf({ model: 'm', input: 'a', encoding_format: 'hex' })).toEqual([
      'encoding_format: expected one of "float" or "base64", got "hex"',
    ]);
  });
});

describe('an embeddings response', () => {
  const vector = Float32Array.of(0.5, -1, 3.4028234663852886e38, 1e-45);

  it('encodes little-endian float32 as base64', () => {
    const bytes = Buffer.from(encodeEmbedding(vector, 'base64') as string, 'base64');
    expect([0, 1, 2, 3].map((at) => bytes.readFloatLE(at * 4))).toEqual([...vector]);
    expect(bytes).toHaveLength(16);
  });

  it('gives numbers unless base64 was asked for', () => {
    for (const format of ['float', null, undefined] as const)
      expect(encodeEmbedding(vector, format)).toEqual([...vector]);
  });

  it('numbers the vectors and counts the tokens', () => {
    const body = embeddingsResponse(
      { vectors: [Float32Array.of(1), Float32Array.of(0)], promptTokens: 7 },
      'm',
      'float',
    );
    expect(body).toEqual({
      object: 'list',
      model: 'm',
      data: [
        { object: 'embedding', index: 0, embedding: [1] },
        { object: 'embedding', index: 1, embedding: [0] },
      ],
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
  });
});
