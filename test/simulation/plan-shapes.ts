import type { SeededRandom } from '../support/seeded-random.ts';
import { type BatchPlan, damageMs, day, type LineKind, type LinePlan } from './plan.ts';
import type { Shape, Weather, WorldPlan } from './plan.ts';

/** Turns a mixed world into one that is about a rare situation. */
export const planShaped: Record<Shape, (random: SeededRandom, plan: WorldPlan) => WorldPlan> = {
  mixed: (_random, plan) => plan,
  closing: planClosing,
  suspects: planSuspects,
  silent: planSilent,
  shares: planShares,
  refused: planRefused,
  crowd: planCrowd,
  damaged: planDamaged,
  stalled: planStalled,
  paused: planPaused,
  chats: planChats,
  windows: planWindows,
  late: planLate,
};

/** Small batches with all endings, while the process that closes them is delayed and another one takes over. */
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
    calmFrom: plan.size === 'large' ? 150_000 : 90_000,
    incidents: [...plan.incidents, ...stops],
  };
}

/** Processes at work die repeatedly, each after it has claimed the chunks of the one before, so that chunks are split. */
function planSuspects(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const [first] = plan.batches;
  const lines = first!.lines.map((line) => ({ ...line, delayMs: line.delayMs + random.int(3_000, 9_000) }));
  const deaths = random.int(2, 4);
  const crashes = Array.from({ length: deaths }, (_, n) => ({
    at: n * 42_000 + random.int(1_000, 8_000),
    incident: { kind: 'crash' as const, downMs: random.int(200, 2_000), atWork: true },
  }));
  return {
    ...plan,
    processes: 3,
    slots: random.int(1, 2),
    windowMs: day,
    batches: [{ ...first!, createAt: 0, cancelAt: null, lines }],
    weather: { ...plan.weather, crash: 0, seldomHang: 0.5 },
    longestMs: 70_000,
    calmFrom: deaths * 42_000,
    incidents: crashes,
  };
}

/** Minutes of work, and processes that lose contact with the database while they run it. */
function planSilent(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const [first] = plan.batches;
  const delayMs = () => random.int(2_000, 8_000);
  const lines = first!.lines.map((line) => ({ ...line, kind: 'slow' as const, delayMs: delayMs() }));
  const silences = Array.from({ length: 3 }, () => ({
    at: random.int(2_000, 40_000),
    incident: { kind: random.pick(['silence', 'pause'] as const), ms: random.int(35_000, plan.longestMs) },
  }));
  return {
    ...plan,
    slots: random.int(1, 2),
    windowMs: day,
    batches: [{ ...first!, createAt: 0, cancelAt: null, lines }],
    weather: { ...plan.weather, crash: 0 },
    calmFrom: plan.size === 'large' ? 120_000 : 95_000,
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

/** Some lines are always refused; the other lines of their model must be unaffected. */
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

/** Some lines always fail as if their server were at fault, sometimes through a router; they must not stall other lines. */
function planStalled(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const [first] = plan.batches;
  const kinds: LineKind[] = ['closed', 'filtered', 'broken'];
  const lines = Array.from({ length: 24 }, (): LinePlan => {
    const kind = random.chance(0.15) ? random.pick(kinds) : 'plain';
    return { kind, model: 'm1', system: null, delayMs: random.int(0, 400) };
  });
  return {
    ...plan,
    models: ['m1'],
    windowMs: day,
    batches: [{ ...first!, endpoint: '/v1/chat/completions', createAt: 0, cancelAt: null, lines }],
    weather: fair,
    incidents: [],
    flaky: 0,
    undisturbed: true,
    ...(random.chance(0.5) && { gateway: true }),
  };
}

/** Files are damaged while they are read, and never repaired. */
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

/** Batches come one after another in windows of seconds at other prices, so that some are met, some missed and some refused. */
function planWindows(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const shortWindows = [random.int(4, 15) * 1000, random.int(16, 60) * 1000];
  const batches = Array.from({ length: 6 }, (_, at) => {
    const batch = random.pick(plan.batches);
    return {
      ...batch,
      name: `b${at}`,
      createAt: at * 3_000 + random.int(0, 2_000),
      cancelAt: random.chance(0.1) ? batch.cancelAt : null,
      ...(random.chance(0.75) && { windowMs: random.pick(shortWindows) }),
    };
  });
  return {
    ...plan,
    slots: random.int(1, 2),
    windowMs: day,
    shortWindows,
    batches,
    weather: { ...plan.weather, error: 0.1 },
  };
}

/** Chats come and go at each process, and lines take so long that some give way several times. */
function planChats(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const batches = plan.batches.map((batch) => ({
    ...batch,
    lines: batch.lines.map((line) =>
      line.kind === 'plain' ? { ...line, kind: 'slow' as const, delayMs: random.int(1_000, 6_000) } : line,
    ),
  }));
  return { ...plan, batches, slots: random.pick([4, 8]), chats: true };
}

/** An operator pauses models, orgs and everything, in any order, and resumes them before the calm. */
function planPaused(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const orgs = plan.batches.map(({ orgId }) => orgId);
  const pauses = Array.from({ length: random.int(1, 4) }, () => {
    const at = random.int(200, plan.calmFrom - 2_000);
    const model = random.chance(0.5) ? random.pick(plan.models) : null;
    const orgId = random.chance(0.5) ? random.pick(orgs) : null;
    return { at, ms: random.int(100, plan.calmFrom - at), scope: { model, orgId } };
  });
  return { ...plan, windowMs: random.chance(0.8) ? day : plan.windowMs, pauses };
}

/**
 * One org with much work, and another with little, which idles and then returns with more. No faults. Both have many times the lines that
 * processes claim ahead: until those are sent, the order of claims does not show.
 */
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
    batches: [
      batch('b0', 'org_1', slots * 150, 0),
      batch('b1', 'org_2', 12, 0),
      batch('b2', 'org_2', 500, 70_000),
    ],
    weather: fair,
    incidents: [],
    flaky: 0,
  };
}

/** Kinds on which the server fails; at the end of a batch each such line costs seconds of back-off. */
const failing: ReadonlySet<LineKind> = new Set(['shaky', 'broken', 'refused', 'unreachable']);

/**
 * More orgs with the same work than a claim looks at, and one of them with a short window, which its batch meets only ahead of its turn.
 * No faults.
 */
function planLate(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const slots = 8;
  const orgs = 80;
  const windowMs = 80_000;
  const batch = (at: number): BatchPlan => ({
    name: `b${at}`,
    orgId: `org_${at}`,
    endpoint: '/v1/chat/completions',
    lines: Array.from({ length: 16 }, () => ({
      kind: 'slow',
      model: 'm1',
      system: null,
      delayMs: random.int(500, 1_500),
    })),
    createAt: random.int(0, 1_000),
    cancelAt: null,
  });
  const last = { ...batch(orgs), createAt: 1_500, windowMs };
  return {
    ...plan,
    processes: 2,
    models: ['m1'],
    slots,
    windowMs: day,
    shortWindows: [windowMs],
    batches: [...Array.from({ length: orgs - 1 }, (_, at) => batch(at)), last],
    weather: fair,
    incidents: [],
    flaky: 0,
    undisturbed: true,
  };
}

/** One batch that exceeds every group, slice and page of the batch engine, on many slots, with few failures. */
function planCrowd(random: SeededRandom, plan: WorldPlan): WorldPlan {
  const [first, ...others] = plan.batches;
  const count = plan.size === 'large' ? random.int(520, 700) : random.int(257, 320);
  const lines = Array.from({ length: count }, () => {
    const line = random.pick(first!.lines);
    const isFine = line.kind === 'late' || (failing.has(line.kind) && random.chance(0.9));
    return isFine ? { ...line, kind: 'plain' as const, delayMs: 100 } : line;
  });
  return { ...plan, slots: random.pick([64, 256]), batches: [{ ...first!, lines }, ...others] };
}
