import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiError } from '../../core/errors.ts';
import { locateJsonFault } from './locate-fault.ts';
import { parseJson, lineAndColumn, readJson } from './parse.ts';

const messageOf = (text: string): string => {
  const reading = readJson(text);
  return reading.problem ? `${reading.problem.at}: ${reading.problem.message}` : 'no problem';
};

describe('readJson', () => {
  it.each([
    ['{"a":1', '6: the text ends inside an object'],
    ['[1,2', '4: the text ends inside an array'],
    ['{"a":"x', '7: the text ends inside a string'],
    ['{"a":', '5: the text ends where a value is expected'],
    ['', '0: the text ends where a value is expected'],
    ['{"a":1,}', '7: trailing comma'],
    ['[1,]', '3: trailing comma'],
    ['{"a":NaN}', '5: NaN is not a JSON value'],
    ['{"a":undefined}', '5: undefined is not a JSON value'],
    ['{"a":-Infinity}', "5: unexpected '-' where a value is expected"],
    ['{"a":1} // done', '8: JSON does not allow comments'],
    ['{/* no */"a":1}', '1: JSON does not allow comments'],
    ["{'a':1}", '1: strings need double quotes, not single quotes'],
    ['{"a":\'b\'}', '5: strings need double quotes, not single quotes'],
    ['{a:1}', '1: expected a key in double quotes'],
    ['{"a" 1}', '5: expected a colon after the key'],
    ['{"a":1 "b":2}', "7: expected a comma or }, got '\"'"],
    ['[1 2]', "3: expected a comma or ], got '2'"],
    ['{"a":1}{"b":2}', '7: unexpected text after the JSON value'],
    ['{"a":01}', '6: invalid number'],
    ['{"a":1.}', '6: invalid number'],
    ['{"a":+1}', "5: unexpected '+' where a value is expected"],
    ['{"a":"\\x"}', '6: invalid escape'],
    ['{"a":"x\ty"}', '7: the control character U+0009 must be escaped inside a string'],
    ['\ufeff{}', '0: unexpected U+FEFF where a value is expected'],
  ])('B10: says where %s is broken', (text, expected) => {
    expect(messageOf(text)).toBe(expected);
  });

  it('B10: locates a fault in any text that JSON.parse rejects', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.constantFrom(...'{}[]:,"x\\ 1'.split('')), (json, at, char) => {
        const where = at % (json.length + 1);
        const text = json.slice(0, where) + char + json.slice(where);
        try {
          JSON.parse(text);
        } catch {
          expect(locateJsonFault(text).message).not.toBe('invalid JSON');
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('B24: rejects depth before parsing, and B23: reports a syntax error before a duplicate key', () => {
    const deep = readJson('['.repeat(70));
    expect(deep.problem?.code).toBe('too_deep');
    expect(readJson('{"a":1,"a":2,}').problem?.code).toBe('invalid_json');
    expect(messageOf('{"a":1,"a":2}')).toBe('7: duplicate key "a"');
  });

  it('B25: __proto__ and constructor are data', () => {
    const text = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}';
    const reading = readJson(text);
    expect(reading.problem).toBeUndefined();
    expect(JSON.stringify((reading as { value: unknown }).value)).toBe(text);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('parseJson', () => {
  const errorOf = (text: string): ApiError => {
    try {
      parseJson(text, { what: 'The request body' });
    } catch (error) {
      return error as ApiError;
    }
    throw new Error('was accepted');
  };

  it('reports line and column', () => {
    const error = errorOf('{\n  "a": 1,\n  "b": tru\n}');
    expect([error.status, error.code]).toEqual([422, 'validation_error']);
    expect(error.message).toBe(
      'The request body cannot be read at line 3, column 8: tru is not a JSON value.',
    );
  });

  it('has separate codes for depth and duplicate keys', () => {
    expect(errorOf('['.repeat(65)).code).toBe('too_deep');
    expect(errorOf('{"a":1,"a":1}').code).toBe('duplicate_key');
    expect(errorOf(`[${'1,'.repeat(200_001)}1]`).message).toContain('more than 200,000 values');
  });

  it('counts columns from 1', () => {
    expect(lineAndColumn('abc', 0)).toBe('line 1, column 1');
    expect(lineAndColumn('a\nbc', 3)).toBe('line 2, column 2');
  });
});
