import { Ajv, type AnySchema, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';

/** Compiles schemas and holds texts against them. Synchronous and without a time limit: that is its caller's part. */
export interface SchemaChecker {
  /** Compiles and tries a schema; what is wrong with it, or null. Throws a RangeError when it needs too much stack. */
  trial(schema: string): string | null;
  /** How `text`, which should be JSON, misses the schema; null when it conforms. Throws for a schema that has no use. */
  check(schema: string, text: string): string | null;
}

/** What is remembered of compiled schemas, by number and by their text; a batch usually repeats one. */
const kept = { schemas: 256, characters: 1_048_576 } as const;

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

/** Patterns run on RE2, which cannot be made to backtrack (reliability.md, C14). */
const linear = Object.assign(
  (pattern: string) => {
    const expression = RE2JS.compile(pattern);
    return { test: (text: string) => expression.matcher(text).find() };
  },
  { code: 'linear' },
);

const options: Options = {
  strict: false,
  validateFormats: false,
  logger: false,
  ownProperties: true,
  code: { regExp: linear },
};

export function createSchemaChecker(): SchemaChecker {
  const compiled = new Map<string, ValidateFunction>();
  let characters = 0;
  // They only judge schemas; compiling happens in an instance a schema, which goes with it.
  const dialects = [
    {
      judge: new Ajv2020(options),
      create: () => new Ajv2020({ ...options, meta: false, validateSchema: false }),
    },
    { judge: new Ajv(options), create: () => new Ajv({ ...options, meta: false, validateSchema: false }) },
  ] as const;

  function compile(text: string): ValidateFunction {
    const known = compiled.get(text);
    if (known) return known;
    const { schema, isOld } = readSchema(text);
    const [preferred, other] = isOld ? dialects.toReversed() : dialects;
    const dialect = [preferred, other].find(({ judge }) => judge.validateSchema(schema) === true);
    if (!dialect) throw new Error(faultOf(preferred.judge.errors, '#'));
    const validate = dialect.create().compile(schema);
    compiled.set(text, validate);
    characters += text.length;
    forget();
    return validate;
  }

  function forget(): void {
    for (const text of compiled.keys()) {
      if (compiled.size <= kept.schemas && characters <= kept.characters) return;
      if (compiled.size === 1) return;
      compiled.delete(text);
      characters -= text.length;
    }
  }

  return {
    trial(schema) {
      try {
        const validate = compile(schema);
        for (const probe of probes) validate(probe);
        return null;
      } catch (error) {
        // Out of stack: no fault of the schema's grammar.
        if (error instanceof RangeError) throw error;
        return shortened(error instanceof Error ? error.message : String(error));
      }
    },
    check(schema, text) {
      const validate = compile(schema);
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch {
        return 'it is not JSON';
      }
      return validate(value) ? null : faultOf(validate.errors, 'the value');
    },
  };
}

/** Names that a schema gives itself mean nothing here, and would only collide with others. */
function readSchema(text: string): { schema: AnySchema; isOld: boolean } {
  const read = JSON.parse(text) as AnySchema;
  if (typeof read === 'boolean') return { schema: read, isOld: false };
  const { $schema, $id: _id, id: _oldId, ...schema } = read;
  return { schema, isOld: typeof $schema === 'string' && /draft-0[4-7]/.test($schema) };
}

function faultOf(errors: ValidateFunction['errors'], whole: string): string {
  const [error] = errors ?? [];
  return shortened(
    error ? `${error.instancePath || whole} ${error.message ?? 'does not fit'}` : 'it does not fit',
  );
}

function shortened(message: string): string {
  return message.length > messageLength ? `${message.slice(0, messageLength)}...` : message;
}
