/** Part of the time of a request. */
export interface Phase {
  name: 'queued' | 'first' | 'rest';
  label: string;
  ms: number;
}

interface TimedRequest {
  ms: number;
  queued_ms: number | null;
  first_ms: number | null;
}

/** Parts of the time of a request, in their order; without those that took no time. Empty for one that reached no model. */
export function phasesOf({ ms, queued_ms: queued, first_ms: first }: TimedRequest): Phase[] {
  if (queued === null && first === null) return [];
  const rest = Math.max(0, ms - (queued ?? 0) - (first ?? 0));
  const phases: Phase[] = [
    { name: 'queued', label: 'Waiting for a slot', ms: queued ?? 0 },
    { name: 'first', label: 'To the first output', ms: first ?? 0 },
    { name: 'rest', label: 'Rest', ms: rest },
  ];
  return phases.filter((phase) => phase.ms > 0);
}
