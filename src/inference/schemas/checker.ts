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

/** Tried on every new schema: one that never ends shows it here, before an answer was paid for. */
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
/** Formats are looked at in answers; a schema's own addresses may be written as they like. */
const unjudged: Options = { ...options, meta: false, validateSchema: false, validateFormats: true, formats };

/** Read in schemas of an earlier dialect as well, which had the list under another name: the embedded engine writes it. */
const prefixItems = {
  keyword: 'prefixItems',
  metaSchema: { type: 'array', items: { type: ['object', 'boolean'] } },
  macro: (items: AnySchema[]) => ({ items }),
};

/** As numbers are written, where Ajv goes by what a division of doubles leaves: an eighth of all cents were none. */
const multipleOf: FuncKeywordDefinition = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  errors: false,
  error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` },
  compile: (step: number) => (value: number) => isMultiple(value, step),
};

/** Compiles schemas and holds texts against them. Synchronous and without a time limit: that is its caller's part. */
export function createSchemaChecker() {
  const compiled = new Map<number, ValidateFunction>();
  const values = new JsonValueIds();
  // The judges only judge schemas; compiling happens in an instance a schema, which goes with it.
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
    /** A step whose schema was seen before, and was not forgotten, needs no source. */
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
  // Out of stack: no fault of the schema's grammar.
  if (error instanceof RangeError) return { kind: 'too much' };
  if (error instanceof SchemaRejected) {
    const { code, at, message } = error;
    return { kind: 'refused', code, at, message };
  }
  const why = shortened(error instanceof Error ? error.message : String(error));
  const message = `not a JSON Schema that can be used: ${why}`;
  return { kind: 'refused', code: 'validation_error', at: '', message };
}

/** Names that a schema gives itself mean nothing here, and would only collide with others. */
function withoutNames(given: AnySchema): { schema: AnySchema; isOld: boolean } {
  if (typeof given === 'boolean') return { schema: given, isOld: false };
  const { $schema, $id: _id, id: _oldId, ...schema } = given;
  return { schema, isOld: typeof $schema === 'string' && /draft-0[4-7]/.test($schema) };
}

/** A word of OpenAPI, which means something beside a `type` alone. Ajv refuses it elsewhere. */
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
