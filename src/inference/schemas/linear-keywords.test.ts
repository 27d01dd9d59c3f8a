import { Ajv } from 'ajv';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonValueIds } from './json-value-ids.ts';
import { withLinearKeywords } from './linear-keywords.ts';

const values = new JsonValueIds();
const options = { strict: false, logger: false, validateSchema: false, addUsedSchema: false } as const;
const linear = withLinearKeywords(new Ajv(options), values);
const theirs = new Ajv(options);

function verdicts(schema: object, value: unknown): [ours: boolean, theirs: boolean] {
  values.clear();
  return [linear.validate(schema, value), theirs.validate(schema, value)];
}

/** Few of each kind, so that many are equal, and as different as JSON can be where they are not. */
const scalar = fc.constantFrom<unknown>(
  null,
  true,
  false,
  0,
  -0,
  1,
  1.5,
  '',
  '1',
  'a',
  '"a',
  '[0',
  '{0:0',
  '0:1',
);
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    scalar,
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', ''), tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any;

describe('withLinearKeywords', () => {
  it('finds the same items equal as Ajv does', () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 5 }), (items) => {
        const [ours, right] = verdicts({ uniqueItems: true }, items);
        expect(ours).toBe(right);
      }),
      { numRuns: 300 },
    );
  });

  it('finds the same values among those allowed as Ajv does', () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 5 }), value, (allowed, given) => {
        const [ours, right] = verdicts({ enum: allowed }, given);
        expect(ours).toBe(right);
        expect(verdicts({ enum: allowed }, allowed.at(-1))).toEqual([true, true]);
      }),
      { numRuns: 150 },
    );
  });

  it('finds members in another order equal, wherever they stand', () => {
    const [one, other] = [JSON.parse('[{"a":1,"b":[{}]}]'), JSON.parse('[{"b":[{}],"a":1.0}]')] as unknown[];
    expect(verdicts({ uniqueItems: true }, [one, other])).toEqual([false, false]);
    expect(verdicts({ enum: [one] }, other)).toEqual([true, true]);
  });

  it('compares members by any name', () => {
    const items = JSON.parse('[{"constructor":[]},{"constructor":[]},{"__proto__":[]}]') as unknown[];
    expect(verdicts({ uniqueItems: true }, items)[0]).toBe(false);
    expect(verdicts({ uniqueItems: true }, items.slice(1))[0]).toBe(true);
    expect(verdicts({ enum: items.slice(2) }, {})[0]).toBe(false);
  });

  it('ignores uniqueItems: false', () => {
    expect(verdicts({ uniqueItems: false }, [1, 1])).toEqual([true, true]);
  });

  it('looks at each item once', () => {
    let looks = 0;
    const items = Array.from({ length: 2_000 }, (_, n) => ({
      get n() {
        looks++;
        return n;
      },
    }));
    values.clear();
    expect(linear.validate({ uniqueItems: true }, items)).toBe(true);
    expect(looks).toBe(2_000);
  });

  it('visits deep values in nested unique lists once', () => {
    let looks = 0;
    const leaf = {
      get n() {
        looks++;
        return 1;
      },
    };
    let nested: unknown[] = [1, leaf];
    for (let depth = 0; depth < 300; depth++) nested = [depth, nested];
    const ofItself = {
      $defs: { nested: { uniqueItems: true, items: { $ref: '#/$defs/nested' } } },
      $ref: '#/$defs/nested',
    };
    values.clear();
    expect(linear.validate(ofItself, nested)).toBe(true);
    expect(looks).toBe(1);
  });
});
