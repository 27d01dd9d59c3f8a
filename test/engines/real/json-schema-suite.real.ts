import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isObject } from '../../../src/base/fields.ts';
import { createThreadChecker } from '../../../src/inference/schemas/checker.ts';
import { formats } from '../../../src/inference/schemas/formats.ts';

// The official JSON-Schema-Test-Suite, from a checkout in OFFPEAK_JSON_SCHEMA_SUITE.

interface Group {
  description: string;
  schema: unknown;
  tests: { description: string; data: unknown; valid: boolean }[];
}

const suite = process.env['OFFPEAK_JSON_SCHEMA_SUITE'];
if (suite === undefined) console.warn('SKIPPED: OFFPEAK_JSON_SCHEMA_SUITE names no checkout of the suite');

const dialects = {
  'draft2020-12': 'https://json-schema.org/draft/2020-12/schema',
  'draft2019-09': 'https://json-schema.org/draft/2019-09/schema',
  draft7: 'http://json-schema.org/draft-07/schema#',
  draft6: 'http://json-schema.org/draft-06/schema#',
  draft4: 'http://json-schema.org/draft-04/schema#',
};

/** Tests that must fail, as documented: file, beginning of the test, reason. */
const differences: readonly [file: string, begins: string, because: string][] = [
  ['format', '', 'formats are checked, also where the draft makes them annotations'],
  ['ref', 'ref overrides any sibling keywords', 'keywords beside $ref apply in every draft'],
  ['optional/content', '', 'encodings of content are not checked'],
  ['optional/ecmascript-regex', 'ECMA 262 \\s matches', 'patterns are those of RE2'],
  ['optional/ecmascript-regex', 'ECMA 262 \\S matches', 'patterns are those of RE2'],
  ['optional/zeroTerminatedFloats', '', '1.0 is an integer in every draft'],
  ['optional/format/hostname', 'validation of A-label', 'the Unicode behind xn-- may be any'],
  ['optional/format/duration', '', 'durations are those of ISO 8601'],
];

/** Rejections that are documented. Others are failures. */
const refusals = [
  /^only references inside the schema/,
  /^only the root schema may have an identifier/,
  /^this keyword is not supported/,
  /^unknown dialect of JSON Schema/,
  // No value conforms to an empty enum; draft 4 has true and false as `exclusiveMaximum`.
  /^expected a list with at least one value/,
  /^expected a number$/,
];

function filesOf(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const names = entries
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length));
  const isChecked = (name: string) =>
    !name.startsWith('optional/format/') || Object.hasOwn(formats, name.slice('optional/format/'.length));
  return names.filter(isChecked).toSorted();
}

describe.skipIf(suite === undefined).each(Object.entries(dialects))('the suite for %s', (draft, dialect) => {
  it('is met, except for what is documented', () => {
    const check = createThreadChecker();
    const folder = join(suite!, 'tests', draft);
    const failures: string[] = [];
    let met = 0;
    for (const file of filesOf(folder)) {
      const groups = JSON.parse(readFileSync(join(folder, `${file}.json`), 'utf8')) as Group[];
      for (const { description, schema, tests } of groups)
        for (const { description: what, data, valid } of tests) {
          const source = JSON.stringify(isObject(schema) ? { $schema: dialect, ...schema } : schema);
          const verdict = check({ source, text: JSON.stringify(data) });
          const isDifferent = differences.some(
            ([name, begins]) => name === file && description.startsWith(begins),
          );
          if (verdict.kind === 'refused' && refusals.some((reason) => reason.test(verdict.message))) continue;
          if (verdict.kind === (valid ? 'fine' : 'missed')) met++;
          else if (!isDifferent)
            failures.push(`${file}: ${description}: ${what}: ${JSON.stringify(verdict)}`);
        }
    }
    console.info(`${draft}: ${met} tests met`);
    expect(failures).toEqual([]);
    expect(met).toBeGreaterThan(500);
  });
});
