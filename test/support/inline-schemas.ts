import type { Clock } from '../../src/base/clock.ts';
import { silent } from '../../src/base/log.ts';
import { createThreadChecker } from '../../src/inference/schemas/checker.ts';
import { createSchemas, type Schemas } from '../../src/inference/schemas/schemas.ts';

/** Returns the schema compiler without its threads: every check settles within microtasks. */
export function createInlineSchemas(clock: Clock): Schemas {
  const check = createThreadChecker();
  return createSchemas({
    clock,
    log: silent,
    threads: { within: (_orgId, _signal, work) => work(async (step) => check(step)), async stop() {} },
  });
}
