import { traceparentOf } from '../../../core/call-trace.ts';
import type { Router } from '../../../core/router.ts';
import type { EngineCall } from '../../engines.ts';

export type HeadedCall = Pick<EngineCall, 'trace' | 'priority' | 'org'>;

/** Headers of one call, as names and values in turn: its span, and what the router reads. */
export function callHeaders({ trace, priority, org }: HeadedCall, router?: Router): string[] {
  const span = traceparentOf(trace) ?? [];
  if (!router) return span;
  const objective = router.objectives[priority];
  return [
    ...span,
    ...(objective === undefined ? [] : router.objectiveHeaders.flatMap((name) => [name, objective])),
    ...(org === undefined ? [] : router.fairnessHeaders.flatMap((name) => [name, org])),
  ];
}
