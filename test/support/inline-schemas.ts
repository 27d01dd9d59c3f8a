import type { Clock } from '../../src/base/clock.ts';
import { silent } from '../../src/base/log.ts';
import { createSchemaChecker } from '../../src/generate/schemas/checker.ts';
import type { SchemaJob } from '../../src/generate/schemas/job.ts';
import { createSchemas, type Schemas } from '../../src/generate/schemas/schemas.ts';

/** The gate for schemas without its threads: what it finds out, it finds out within microtasks. */
export function createInlineSchemas(clock: Clock): Schemas {
  const checker = createSchemaChecker();
  const runner = {
    waiting: () => 0,
    run: async ({ steps }: SchemaJob) => steps.map((step) => checker.judge(step)),
    async stop() {},
  };
  return createSchemas({ clock, log: silent, runner });
}
