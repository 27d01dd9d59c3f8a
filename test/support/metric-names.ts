import { systemClock } from '../../src/base/system.ts';
import { createCounters } from '../../src/metrics/counters.ts';
import { createGauges, type GaugesDeps } from '../../src/metrics/gauges.ts';

/** Registered metric. The declared type of the library lacks these properties. */
export interface Metric {
  name: string;
  type: string;
  labelNames: string[];
}

/** All metrics that a server can have, except those of Node.js. */
export function listMetrics(): Metric[] {
  const { registry } = createCounters({
    max: 1,
    clock: systemClock,
    nameOf: () => Promise.resolve(undefined),
  });
  createGauges(registry, { version: '' } as GaugesDeps);
  return registry.getMetricsAsArray() as unknown as Metric[];
}
