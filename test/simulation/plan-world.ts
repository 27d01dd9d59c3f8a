import type { SeededRandom } from '../support/seeded-random.ts';
import { planShaped } from './plan-shapes.ts';
import { type BatchPlan, day, hour, type Incident, type LineKind, type LinePlan } from './plan.ts';
import type { Outage, Shape, Size, Weather, WorldPlan } from './plan.ts';

const outages: readonly Outage[] = ['overloaded', 'unreachable', '502', '404'];

/** Upper bounds of the random draws. */
const seldomShapes: readonly [most: number, shape: Shape][] = [
  [0.08, 'closing'],
  [0.12, 'suspects'],
  [0.17, 'silent'],
  [0.22, 'crowd'],
  [0.25, 'refused'],
  [0.28, 'damaged'],
  [0.31, 'stalled'],
];

const largeShare = 0.1;

interface Bounds {
  /** Lines of one batch. */
  lines: readonly [least: number, most: number];
  calmFromSeconds: readonly [least: number, most: number];
  /** Longer than a lease lives. */
  longestMs: number;
}

const boundsOf: Record<Size, Bounds> = {
  small: { lines: [3, 12], calmFromSeconds: [10, 25], longestMs: 42_000 },
  large: { lines: [8, 40], calmFromSeconds: [15, 50], longestMs: 70_000 },
};

/**
 * @param shape mixed, and sometimes another one, if absent
 * @param size small, and sometimes large, if absent
 */
export function planWorld(random: SeededRandom, shape?: Shape, size?: Size): WorldPlan {
  const drawnSize = size ?? (random.chance(largeShare) ? 'large' : 'small');
  const drawn = random.float();
  const seldom = seldomShapes.find(([most]) => drawn < most);
  return planShaped[shape ?? seldom?.[1] ?? 'mixed'](random, planMixed(random, drawnSize));
}

function planMixed(random: SeededRandom, size: Size): WorldPlan {
  const bounds = boundsOf[size];
  const { longestMs } = bounds;
  const models = random.chance(0.5) ? ['m1'] : ['m1', 'm2'];
  const orgs = random.int(1, 3);
  const processes = random.int(2, 3);
  const calmFrom = random.int(...bounds.calmFromSeconds) * 1000;
  const batches = Array.from({ length: random.int(1, 3) }, (_, at) =>
    planBatch(random, `b${at}`, `org_${random.int(1, orgs)}`, models, bounds.lines, calmFrom),
  );
  return {
    size,
    processes,
    models,
    slots: random.pick([1, 2, 4, 8]),
    windowMs: random.chance(0.3) ? random.int(4_000, calmFrom + 5_000) : day,
    batches,
    weather: planWeather(random),
    longestMs,
    calmFrom,
    incidents: planIncidents(random, models, longestMs, calmFrom),
    flaky: random.chance(0.3) ? 0.1 : 0,
  };
}

function planBatch(
  random: SeededRandom,
  name: string,
  orgId: string,
  models: string[],
  lineCounts: Bounds['lines'],
  calmFrom: number,
): BatchPlan {
  const endpoint = random.chance(0.1) ? '/v1/embeddings' : '/v1/chat/completions';
  const kinds: LineKind[] = ['plain', 'slow'];
  if (random.chance(0.6)) kinds.push('bad', 'shaky', 'broken', 'refused', 'unreachable');
  if (random.chance(0.2)) kinds.push('late');
  if (endpoint === '/v1/chat/completions' && random.chance(0.2)) kinds.push('unschemed');
  const gone = random.chance(0.05) ? 'gone' : null;
  const lines = Array.from({ length: random.int(...lineCounts) }, (): LinePlan => {
    const kind = random.chance(0.6) ? 'plain' : random.pick(kinds);
    return {
      kind,
      model: gone && random.chance(0.3) ? gone : random.pick(models),
      system: random.chance(0.5) ? random.int(0, 2) : null,
      delayMs: delayOf(random, kind),
    };
  });
  return {
    name,
    orgId,
    endpoint,
    lines,
    createAt: random.int(0, 8_000),
    cancelAt: random.chance(0.35) ? random.int(0, calmFrom + 5_000) : null,
  };
}

function delayOf(random: SeededRandom, kind: LineKind): number {
  if (kind === 'late') return random.int(15_000, 45_000);
  return kind === 'slow' ? random.int(1_000, 6_000) : random.int(0, 800);
}

function planWeather(random: SeededRandom): Weather {
  const some = (probability: number, most: number) =>
    random.chance(probability) ? random.float() * most : 0;
  return {
    latency: random.pick([0.1, 0.3, 1]),
    slow: some(0.5, 0.02),
    hang: some(0.3, 0.004),
    seldomHang: some(0.35, 0.5),
    error: some(0.5, 0.05),
    twice: some(0.4, 0.05),
    crash: some(0.4, 0.01),
    pause: some(0.3, 0.01),
    blobs: some(0.2, 0.1),
  };
}

function planIncidents(
  random: SeededRandom,
  models: string[],
  longestMs: number,
  calmFrom: number,
): WorldPlan['incidents'] {
  const incidents: WorldPlan['incidents'] = [];
  const some = (probability: number, most: number, make: () => Incident) => {
    if (!random.chance(probability)) return;
    const times = random.int(1, most);
    for (let n = 0; n < times; n++) incidents.push({ at: random.int(200, calmFrom - 1), incident: make() });
  };
  const downMs = () => random.int(200, 12_000);
  some(0.6, 4, () => ({ kind: 'crash', downMs: downMs() }));
  some(0.3, 2, () => ({ kind: 'stop', downMs: downMs() }));
  some(0.35, 2, () => ({ kind: 'pause', ms: random.int(500, longestMs) }));
  some(0.3, 2, () => ({ kind: 'silence', ms: random.int(5_000, longestMs) }));
  some(0.3, 3, () => ({ kind: 'jump', ms: random.pick([-hour, hour]) }));
  some(0.3, 2, () => ({ kind: 'store', ms: random.int(500, 8_000), everyone: random.chance(0.5) }));
  some(0.4, 3, () => ({
    kind: 'refuse',
    ms: random.int(500, 20_000),
    model: random.pick(models),
    retryAfter: random.chance(0.5) ? random.int(0, 10) : null,
    how: random.pick(outages),
  }));
  return incidents;
}
