import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatPatterns } from '../../engines/llama/grammar/formats.ts';
import { formats } from './formats.ts';

describe('formats', () => {
  it('are those that the embedded engine writes, and accept what it writes', () => {
    expect(Object.keys(formats).toSorted()).toEqual(Object.keys(formatPatterns).toSorted());
    for (const [name, pattern] of Object.entries(formatPatterns))
      fc.assert(
        fc.property(fc.stringMatching(new RegExp(`^(?:${pattern})$`)), (text) => formats[name]!(text)),
      );
  });

  it.each([
    ['date', ['2024-02-29', '2023-12-31'], ['2023-02-29', '2024-13-01', '24-01-01', 'today']],
    [
      'time',
      ['14:30:00Z', '23:59:60Z', '01:59:60.5+02:00', '15:59:60-08:00'],
      ['14:30', '14:30:00', '25:00:00Z', '14:30:00+24:00', '23:59:60+02:00', '22:59:60Z', '23:58:60Z'],
    ],
    [
      'date-time',
      ['2024-02-29T14:30:00Z', '2024-01-01t00:00:00-05:00'],
      ['2024-02-29', '2023-02-29T14:30:00Z'],
    ],
    ['duration', ['P3D', 'PT1H30M', 'P2W'], ['P', 'PT', '3 days', 'P1D2W']],
    ['uuid', ['123E4567-e89b-12d3-a456-426614174000'], ['123e4567e89b12d3a456426614174000', 'id']],
    ['ipv4', ['127.0.0.1'], ['256.0.0.1', '1.2.3']],
    ['ipv6', ['::1', '2001:DB8::'], ['fe80::1%eth0', ':::']],
    ['hostname', ['Example.com', 'a'], ['-a.com', 'a..b', 'a_b', '']],
    [
      'email',
      ['jane.doe+x@example.com', '"j d"@example.com', 'a@[127.0.0.1]', 'a@[IPv6:::1]'],
      ['a@[::1]', 'a@[256.0.0.1]', 'jane', '@example.com', 'a@', 'a..b@c.d'],
    ],
    [
      'uri',
      [
        'https://me:x@example.com:80/a?b=%20#c',
        'urn:isbn:1',
        'http://[::1]:8080/',
        'http://[v1.a]',
        'file:///a',
      ],
      [
        'example.com',
        '/a',
        'https://a b',
        'a:%zz',
        'http://a:b/',
        'http://a@b@c',
        'http://a[b]',
        'http://a/[b]',
        'http://[::1',
        'http://[fe80::1%25a]/',
        'http://[::ffff:01.2.3.4]',
        '://a',
        '1a:b',
      ],
    ],
    [
      'uri-reference',
      ['../a', '#x', 'https://a', '', '//a:1/b', '?a:b', 'a/b:c'],
      ['a b', '1:2', '\\a', '//a:b', '[a]'],
    ],
    ['json-pointer', ['', '/a/~01'], ['a', '/~2']],
    ['relative-json-pointer', ['0#', '1/a'], ['01', '/a', '-1']],
  ] as [string, string[], string[]][])('%s is %j, and not %j', (name, right, wrong) => {
    expect(right.filter((text) => !formats[name]!(text))).toEqual([]);
    expect(wrong.filter((text) => formats[name]!(text))).toEqual([]);
  });
});
