import { describe, expect, it } from 'vitest';
import { createKeyScrubber } from './key-shapes.ts';

const clean = createKeyScrubber(['pass+word"1', 'pass']);

describe('createKeyScrubber', () => {
  it.each([
    [`a sk-offpeak-${'aB3'.repeat(16)}x b`, 'a [removed] b'],
    ['/v1/sk-proj-abc_DEF-12345678/models', '/v1/[removed]/models'],
    ['hf_abcdefghijkl,gsk_abcdefgh1 xai-abcdefgh12', '[removed],[removed] [removed]'],
    [`AIza${'Sy_-'.repeat(9)}`, '[removed]'],
    ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw+/0=', '[removed]'],
    ['Authorization: Bearer abc.DEF-123=', 'Authorization: Bearer [removed]'],
    ['basic dXNlcjpwYXNz', 'basic [removed]'],
    ['bearer%20abcd1234', 'bearer%20[removed]'],
    ['pass+word"1 and pass', '[removed] and [removed]'],
  ])('%s', (text, expected) => {
    expect(clean(text)).toBe(expected);
  });

  it.each([
    'key_0199aa11bb22cc33dd44ee55ff667788 of org_0199aa11bb22cc33',
    'send it as a bearer token; basic authentication, bearer authorization.',
    'task-scheduler risk-management disk_usage_percent',
  ])('leaves %s', (text) => {
    expect(createKeyScrubber()(text)).toBe(text);
  });
});
