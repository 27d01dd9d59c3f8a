import { describe, expect, it } from 'vitest';
import { chatResponse } from '../../test/support/fake-engine.ts';
import { named, usageOf } from './answers.ts';

describe('named', () => {
  it('gives an answer our id and the public name, and keeps what else the engine said', () => {
    const response = { ...chatResponse('hi'), timings: { ms: 3 } };
    expect(named(response, 'chatcmpl_1', 'public')).toEqual({
      ...response,
      id: 'chatcmpl_1',
      model: 'public',
    });
  });
});

describe('usageOf', () => {
  it('counts cached tokens among the input', () => {
    expect(usageOf(chatResponse('').usage)).toEqual({ inputTokens: 7, cachedTokens: 2, outputTokens: 5 });
  });
});
