import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { compile, randomAnswer, seeded } from '../../../test/engines/llama/random-json.ts';
import { anySchema } from '../../../test/engines/llama/random-schema.ts';
import { createThreadChecker } from './checker.ts';

/** A text that the embedded engine could generate; undefined if no text is valid. */
function textsOf(schema: object): string[] {
  try {
    const analysed = compile(schema);
    return [1, 2, 3].map((seed) => randomAnswer(analysed, 40, seeded(seed)));
  } catch {
    return [];
  }
}

/** Formats are held in the whole width of their standards, which Ajv alone does not know. */
const withoutFormats = (schema: object) =>
  JSON.stringify(schema, (key, each: unknown) => (key === 'format' ? undefined : each));

it('agrees with Ajv', () => {
  const schemas = fc.sample(anySchema, { numRuns: 100, seed: 20261123 });
  const texts = schemas.map(textsOf);
  const others = texts.flat();
  const check = createThreadChecker();
  let checked = 0;
  for (const [number, schema] of schemas.entries()) {
    const source = withoutFormats({ properties: { other: schemas.at(number - 1) }, items: schema });
    const validate = new Ajv2020({ strict: false, logger: false, multipleOfPrecision: 9 }).compile(
      JSON.parse(source) as object,
    );
    for (const one of [...texts[number]!, ...texts.at(number - 1)!, others[(7 * number) % others.length]!])
      for (const text of [`[${one}]`, `{"other":${one}}`]) {
        const { kind } = check({ source, text });
        expect(kind, `${text} under ${source}`).toBe(validate(JSON.parse(text)) ? 'fine' : 'missed');
        checked++;
      }
  }
  expect(checked).toBeGreaterThan(500);
});
