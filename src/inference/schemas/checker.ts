import {
  Ajv,
  type AnySchema,
  type FuncKeywordDefinition,
  type Options,
  type ValidateFunction,
  str,
} from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { truncate } from '../../base/truncate.ts';
import { isObject } from '../../base/fields.ts';
import { isMultiple } from '../../base/is-multiple.ts';
import { formats } from './formats.ts';
import { JsonValueIds } from './json-value-ids.ts';
import { withLinearKeywords } from './linear-keywords.ts';
import { checkSchemaLimits, SchemaRejected } from './schema-limits.ts';
import type { PostedStep, SchemaVerdict } from './job.ts';
import { patterns } from './patterns.ts';
import { subschemas } from './subschemas.ts';

/** Values checked against every new schema, so that one that never ends is detected before an answer is paid for. */
const probes: readonly unknown[] = [
  null,
  true,
  0,
  1.5,
  '',
  'a'.repeat(1_000),
  [],
  [[], [0, '']],
  {},
  { a: { a: 0 } },
];

const messageLength = 300;

const options: Options = {
  strict: false,
  validateFormats: false,
  logger: false,
  ownProperties: true,
  code: { regExp: patterns },
};
/** For compiling: the schema was validated before, and formats apply to answers only. */
const unjudged: Options = { ...options, meta: false, validateSchema: false, validateFormats: true, formats };

/** Supports `prefixItems` in older dialects too, where the list was named `items`: the embedded engine supports it. */
const prefixItems = {
  keyword: 'prefixItems',
  metaSchema: { type: 'array', items: { type: ['object', 'boolean'] } },
  macro: (items: AnySchema[]) => ({ items }),
};

/** Decides by decimal digits. Ajv uses the remainder of a division of doubles, which fails for an eighth of all cents. */
const multipleOf: FuncKeywordDefinition = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  errors: false,
  error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` },
  compile: (step: number) => (value: number) => isMultiple(value, step),
};

/** Compiles schemas and checks texts against them, synchronously and without a time limit. */
export function createSchemaChecker() {
  const compiled = new Map<number, ValidateFunction>();
  const values = new JsonValueIds();
  // `judge` instances only validate schemas. Each schema is compiled in an instance of its own, which is garbage with it.
  const withOurs = (ajv: Ajv) =>
    withLinearKeywords(ajv.removeKeyword('multipleOf').addKeyword(multipleOf), values);
  const dialects = [
    {
      judge: withLinearKeywords(new Ajv2020(options), values),
      create: () => withOurs(new Ajv2020(unjudged)),
    },
    {
      judge: withLinearKeywords(new Ajv(options), values),
      create: () => withOurs(new Ajv(unjudged).addKeyword(prefixItems)),
    },
  ] as const;

  function compile(number: number, given: unknown): ValidateFunction {
    const { schema, isOld } = withoutNames(given as AnySchema);
    if (isObject(schema)) forgetNullable(schema);
    const [preferred, other] = isOld ? dialects.toReversed() : dialects;
    const dialect = [preferred, other].find(({ judge }) => judge.validateSchema(schema) === true);
    if (!dialect) throw new Error(faultOf(preferred.judge.errors, '#'));
    const validate = dialect.create().compile(schema);
    compiled.set(number, validate);
    return validate;
  }

  function admit(number: number, schema: unknown): SchemaVerdict {
    checkSchemaLimits(schema);
    const validate = compile(number, schema);
    for (const probe of probes) validate(probe);
    return { kind: 'fine' };
  }

  function check(validate: ValidateFunction, text: string): SchemaVerdict {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return { kind: 'missed', how: 'it is not JSON' };
    }
    return validate(value)
      ? { kind: 'fine' }
      : { kind: 'missed', how: faultOf(validate.errors, 'the value') };
  }

  return {
    /** Judges a step; its source may be absent if the schema is compiled. */
    judge({ number, source, text }: PostedStep): SchemaVerdict {
      try {
        const schema: unknown = source === undefined ? undefined : JSON.parse(source);
        if (text === null) return admit(number, schema);
        return check(compiled.get(number) ?? compile(number, schema), text);
      } catch (error) {
        return refusal(error);
      } finally {
        values.clear();
      }
    },
    forget: (number: number) => void compiled.delete(number),
  };
}

function refusal(error: unknown): SchemaVerdict {
  // A stack overflow says nothing about the schema's grammar.
  if (error instanceof RangeError) return { kind: 'too much' };
  if (error instanceof SchemaRejected) {
    const { code, at, message } = error;
    return { kind: 'refused', code, at, message };
  }
  const why = shortened(error instanceof Error ? error.message : String(error));
  return { kind: 'refused', code: 'validation_error', at: '', message: `not a valid JSON Schema: ${why}` };
}

/** Removes a schema's own identifiers, which could collide with those of other schemas. */
function withoutNames(given: AnySchema): { schema: AnySchema; isOld: boolean } {
  if (typeof given === 'boolean') return { schema: given, isOld: false };
  const { $schema, $id: _id, id: _oldId, ...schema } = given;
  return { schema, isOld: typeof $schema === 'string' && /draft-0[4-7]/.test($schema) };
}

/** Removes OpenAPI's `nullable` where there is no `type`, because Ajv rejects it there. */
function forgetNullable(schema: Record<string, unknown>): void {
  if (schema['type'] === undefined) delete schema['nullable'];
  for (const { value } of subschemas(schema, '')) forgetNullable(value);
}

function faultOf(errors: ValidateFunction['errors'], whole: string): string {
  const [error] = errors ?? [];
  return shortened(
    error ? `${error.instancePath || whole} ${error.message ?? 'does not fit'}` : 'it does not fit',
  );
}

function shortened(message: string): string {
  return truncate(message, messageLength, '...');
}
