import type { Clock } from '../../src/base/clock.ts';
import { silent } from '../../src/base/log.ts';
import { createSchemaChecker } from '../../src/generate/schema-checker.ts';
import { createSchemas, type SchemaRunner, type Schemas } from '../../src/generate/schemas.ts';

/** The gate for schemas without its threads: what it finds out, it finds out within microtasks. */
export function createInlineSchemas(clock: Clock): Schemas {
  const checker = createSchemaChecker();
  const runner: SchemaRunner = {
    waiting: 0,
    async run({ schema, text }) {
      const fault = text === null ? checker.trial(schema) : checker.check(schema, text);
      return fault === null ? { kind: 'fine' } : { kind: 'fault', fault };
    },
    async stop() {},
  };
  return createSchemas({ clock, log: silent, runners: { trial: runner, check: runner } });
}
