import type { BatchEndpoint } from '../../src/core/batch.ts';
import type { SeededRandom } from '../support/seeded-random.ts';

/** How one simulated line behaves. What it must come to when nobody ends its batch early is told by `fateOf`. */
export type LineKind =
  | 'plain'
  | 'slow'
  | 'late'
  | 'bad'
  | 'broken'
  | 'shaky'
  | 'refused'
  | 'unreachable'
  | 'unschemed'
  | 'forbidden';

export interface LinePlan {
  kind: LineKind;
  model: string;
  /** A system prompt it shares with others, or null. */
  system: number | null;
  delayMs: number;
}

export interface BatchPlan {
  name: string;
  orgId: string;
  endpoint: BatchEndpoint;
  lines: LinePlan[];
  createAt: number;
  cancelAt: number | null;
}

/** How often a store call meets each fault while the weather is bad. */
export interface Weather {
  latency: number;
  slow: number;
  /** That it takes longer than a lease lives. */
  hang: number;
  /** The same of what comes seldom: closing, giving back, splitting. */
  seldomHang: number;
  error: number;
  twice: number;
  crash: number;
  pause: number;
  /** Of an operation on blobs: that it fails. */
  blobs: number;
}

/** So long after the calm has begun something may still be damaged. */
export const damageMs = 10_000;

export type Incident =
  | { kind: 'crash' | 'stop'; downMs: number }
  | { kind: 'pause' | 'silence'; ms: number }
  | { kind: 'jump'; ms: number }
  | { kind: 'store'; ms: number; everyone: boolean }
  | { kind: 'damage'; damage: Damage }
  | { kind: 'refuse'; ms: number; model: string; retryAfter: number | null; how: Outage };

/** What is damaged of what is stored: it ends early, a byte of it differs, or it is not there. */
export interface Damage {
  what: 'input' | 'result';
  how: 'cut' | 'flip' | 'gone';
}

/** How an engine takes nothing: it says so, nobody listens, its proxy says so, or its model is not there yet. */
export type Outage = 'overloaded' | 'unreachable' | '502' | '404';

const outages: readonly Outage[] = ['overloaded', 'unreachable', '502', '404'];

/** Everything a seed decides beforehand. What is left to chance is drawn on the way, from the same seed. */
export interface WorldPlan {
  processes: number;
  models: string[];
  slots: number;
  windowMs: number;
  batches: BatchPlan[];
  weather: Weather;
  /** From here on nothing fails any more but the lines themselves. */
  calmFrom: number;
  incidents: { at: number; incident: Incident }[];
  /** Probability that an engine answers a call with a 5xx. */
  flaky: number;
  /** Nothing keeps any line from its answer but what it is itself. */
  undisturbed?: true;
}

/** What a world is about: a bit of everything, or one thing that seldom happens by itself. */
export type Shape = 'mixed' | 'closing' | 'suspects' | 'silent' | 'shares' | 'refused' | 'crowd' | 'damaged';

const hour = 3_600_000;
const day = 24 * hour;

/** @param shape a bit of everything, and now and then one of the others, unless it is given */
export function planWorld(random: SeededRandom, shape?: Shape): WorldPlan {
  const drawn = random.float();
  const shaped =
    shape ??
    (drawn < 0.08
      ? 'closing'
      : drawn < 0.12
        ? 'suspects'
        : drawn < 0.17
          ? 'silent'
          : drawn < 0.22
            ? 'crowd'
            : drawn < 0.25
              ? 'refused'
              : drawn < 0.28
                ? 'damaged'
                : 'mixed');
  const plan = planMixed(random);
  if (shaped === 'closing') return planClosing(random, plan);
  if (shaped === 'suspects') return planSuspects(random, plan);
  if (shaped === 'silent') return planSilent(random, plan);
  if (shaped === 'refused') return planRefused(random, plan);
  if (shaped === 'shares') return planShares(random, plan);
  if (shaped === 'damaged') return planDamaged(random, plan);
  return shaped === 'crowd' ? planCrowd(random, plan) : plan;
}

function planMixed(random: SeededRandom): WorldPlan {
  const models = random.chance(0.5) ? ['m1'] : ['m1', 'm2'];
  const orgs = random.int(1, 3);
  const processes = random.int(2, 3);
  const calmFrom = random.int(15, 50) * 1000;
  const batches = Array.from({ length: random.int(1, 3) }, (_, at) =>
    planBatch(random, `b${at}`, `org_${random.int(1, orgs)}`, models, calmFrom),
  );
  return {
    processes,
    models,
    slots: random.pick([1, 2, 4, 8]),
    windowMs: random.chance(0.3) ? random.int(4_000, calmFrom + 5_000) : day,
    batches,
    weather: planWeather(random),
    calmFrom,
    incidents: planIncidents(random, models, calmFrom),
    flaky: random.chance(0.3) ? 0.1 : 0,
  };
}

/** Small batches that end in every way while whoever closes them is held up and others take over. */
function planClosing(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const batches = plan.batches.map((batch) => ({
    ...batch,
    lines: batch.lines.slice(0, random.int(4, 8)),
    cancelAt: random.chance(0.7) ? batch.createAt + random.int(100, 2_000) : null,
  }));
  const stops = batches.map(({ createAt, cancelAt }) => ({
    at: (cancelAt ?? createAt) + random.int(100, 2_000),
    incident: { kind: 'stop' as const, downMs: random.int(200, 2_000) },
  }));
  return {
    ...plan,
    processes: 3,
    batches,
    weather: { ...plan.weather, seldomHang: 0.4 },
    calmFrom: 150_000,
    incidents: [...plan.incidents, ...stops],
  };
}

/** Processes die so often that chunks are taken apart. */
function planSuspects(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const [first] = plan.batches;
  const lines = first!.lines.map((line) => ({ ...line, delayMs: line.delayMs + random.int(1_000, 5_000) }));
  const crashes = Array.from({ length: random.int(8, 14) }, () => ({
    at: random.int(1_000, 120_000),
    incident: { kind: 'crash' as const, downMs: random.int(200, 2_000) },
  }));
  return {
    ...plan,
    windowMs: day,
    batches: [{ ...first!, createAt: 0, cancelAt: null, lines }],
    weather: { ...plan.weather, seldomHang: 0.4 },
    calmFrom: 130_000,
    incidents: [...plan.incidents, ...crashes],
  };
}

/** Work for minutes, and processes that hear nothing of the database while they have it in hand. */
function planSilent(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const [first] = plan.batches;
  const delayMs = () => random.int(2_000, 8_000);
  const lines = first!.lines.map((line) => ({ ...line, kind: 'slow' as const, delayMs: delayMs() }));
  const silences = Array.from({ length: 3 }, () => ({
    at: random.int(2_000, 40_000),
    incident: { kind: random.pick(['silence', 'pause'] as const), ms: random.int(35_000, 70_000) },
  }));
  return {
    ...plan,
    slots: random.int(1, 2),
    windowMs: day,
    batches: [{ ...first!, createAt: 0, cancelAt: null, lines }],
    weather: { ...plan.weather, crash: 0 },
    calmFrom: 120_000,
    incidents: silences,
  };
}

const fair: Weather = {
  latency: 0.1,
  slow: 0,
  hang: 0,
  seldomHang: 0,
  error: 0,
  twice: 0,
  crash: 0,
  pause: 0,
  blobs: 0,
};

/** Some lines are refused for ever, and the others of their model have nothing to do with that. */
function planRefused(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const line = (kind: LineKind): LinePlan => ({ kind, model: 'm1', system: null, delayMs: 300 });
  const [first] = plan.batches;
  const lines = Array.from({ length: 24 }, () => line(random.chance(0.1) ? 'forbidden' : 'plain'));
  return {
    ...plan,
    models: ['m1'],
    windowMs: 200_000,
    batches: [{ ...first!, endpoint: '/v1/chat/completions', createAt: 0, cancelAt: null, lines }],
    weather: fair,
    incidents: [],
    flaky: 0,
    undisturbed: true,
  };
}

/** Files are damaged while they are read; nothing of it is mended. */
function planDamaged(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const damages = Array.from({ length: random.int(3, 8) }, () => ({
    at: random.int(500, plan.calmFrom + damageMs),
    incident: {
      kind: 'damage' as const,
      damage: {
        what: random.pick(['input', 'result', 'result'] as const),
        how: random.pick(['cut', 'flip', 'flip', 'gone'] as const),
      },
    },
  }));
  return { ...plan, incidents: [...plan.incidents, ...damages] };
}

/** One org with much and another with little that comes later, in a world where nothing goes wrong. */
function planShares(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const line = (delayMs: number): LinePlan => ({ kind: 'slow', model: 'm1', system: null, delayMs });
  const batch = (name: string, orgId: string, lines: number, createAt: number): BatchPlan => ({
    name,
    orgId,
    endpoint: '/v1/chat/completions',
    lines: Array.from({ length: lines }, () => line(random.int(800, 2_400))),
    createAt,
    cancelAt: null,
  });
  const slots = random.pick([4, 8]);
  return {
    ...plan,
    models: ['m1'],
    slots,
    windowMs: day,
    batches: [batch('b0', 'org_1', slots * 90, 0), batch('b1', 'org_2', 12, 70_000)],
    weather: fair,
    incidents: [],
    flaky: 0,
  };
}

/** Kinds whose server fails on them; with nothing else left to do, each of its lines costs seconds. */
const failing: ReadonlySet<LineKind> = new Set(['shaky', 'broken', 'refused', 'unreachable']);

/** One batch with more lines than any group, slice or page of the engine takes, and many slots; few of them fail. */
function planCrowd(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const [first, ...others] = plan.batches;
  const lines = Array.from({ length: random.int(520, 700) }, () => {
    const line = random.pick(first!.lines);
    const isFine = line.kind === 'late' || (failing.has(line.kind) && random.chance(0.9));
    return isFine ? { ...line, kind: 'plain' as const, delayMs: 100 } : line;
  });
  return { ...plan, slots: random.pick([64, 256]), batches: [{ ...first!, lines }, ...others] };
}

function planBatch(
  random: SeededRandom,
  name: string,
  orgId: string,
  models: string[],
  calmFrom: number,
): BatchPlan {
  const endpoint = random.chance(0.1) ? '/v1/embeddings' : '/v1/chat/completions';
  const kinds: LineKind[] = ['plain', 'slow'];
  if (random.chance(0.6)) kinds.push('bad', 'shaky', 'broken', 'refused', 'unreachable');
  if (random.chance(0.2)) kinds.push('late');
  if (endpoint === '/v1/chat/completions' && random.chance(0.2)) kinds.push('unschemed');
  const gone = random.chance(0.05) ? 'gone' : null;
  const lines = Array.from({ length: random.int(8, 40) }, (): LinePlan => {
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

function planIncidents(random: SeededRandom, models: string[], calmFrom: number): WorldPlan['incidents'] {
  const incidents: WorldPlan['incidents'] = [];
  const some = (probability: number, most: number, make: () => Incident) => {
    if (!random.chance(probability)) return;
    const times = random.int(1, most);
    for (let n = 0; n < times; n++) incidents.push({ at: random.int(200, calmFrom - 1), incident: make() });
  };
  const downMs = () => random.int(200, 12_000);
  some(0.6, 4, () => ({ kind: 'crash', downMs: downMs() }));
  some(0.3, 2, () => ({ kind: 'stop', downMs: downMs() }));
  some(0.35, 2, () => ({ kind: 'pause', ms: random.int(500, 70_000) }));
  some(0.3, 2, () => ({ kind: 'silence', ms: random.int(5_000, 70_000) }));
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
