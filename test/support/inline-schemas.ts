import type { Clock } from '../../src/base/clock.ts';
import { silent } from '../../src/base/log.ts';
import { createSchemaChecker } from '../../src/inference/schemas/checker.ts';
import type { SchemaJob, SchemaStep, SchemaVerdict } from '../../src/inference/schemas/job.ts';
import { createSchemas, type Schemas } from '../../src/inference/schemas/schemas.ts';

/** Shared by all instances: the verdict depends only on the schema's text and is slow to compute. */
const checker = createSchemaChecker();
const tried = new Map<string, { number: number; verdict: SchemaVerdict }>();

function judge({ source, text }: SchemaStep): SchemaVerdict {
  let known = tried.get(source);
  if (!known) {
    const number = tried.size;
    known = { number, verdict: checker.judge({ number, source, text: null }) };
    tried.set(source, known);
  }
  return text === null ? known.verdict : checker.judge({ number: known.number, source, text });
}

/** Returns the schema compiler without its threads: every job settles within microtasks. */
export function createInlineSchemas(clock: Clock): Schemas {
  const runner = {
    waiting: () => 0,
    run: async ({ steps }: SchemaJob) => steps.map(judge),
    async stop() {},
  };
  return createSchemas({ clock, log: silent, runner });
}
