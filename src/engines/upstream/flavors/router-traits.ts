import type { Router } from '../../../core/router.ts';
import type { FailureRule } from '../connection/failure-rules.ts';
import type { FlavorTraits } from './traits.ts';

/** Failures that routers report in other ways than servers. */
const failures: Record<Router['kind'], readonly FailureRule[]> = {
  vllm: [
    // Its queue is full, or the wait in it was too long.
    { status: 408, means: 429 },
    // No worker can be reached; with a circuit breaker it results in a 503 from the third time on.
    { status: 500, says: /^Request failed: error sending request/, means: 503 },
  ],
  'llm-d': [],
  generic: [],
};

/** Traits of servers behind a router. It passes `/metrics` and `/health` of one of them on, or has its own. */
export function behindRouter(traits: FlavorTraits, { kind }: Router): FlavorTraits {
  return {
    ...traits,
    report: 'models',
    liveness: 'door',
    failures: [...(traits.failures ?? []), ...failures[kind]],
  };
}
