/** Paths of health checks, which every process answers, also while it stops. */
export const probes: ReadonlySet<string> = new Set(['/healthz', '/readyz']);
