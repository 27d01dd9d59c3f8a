import type { Browser, Page } from 'playwright-core';

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** Begin and length in microseconds of the wall clock, and of the CPU time of the thread. */
  ts: number;
  dur?: number;
  tdur?: number;
  args: { name?: string };
}

/** Scripting of one frame, in milliseconds. */
export interface Frame {
  wallMs: number;
  cpuMs: number;
}

/** Work of scripts in the names of DevTools: the rest of a frame is style, layout and paint. */
const scripting = new Set([
  'EvaluateScript',
  'EventDispatch',
  'FireAnimationFrame',
  'FireIdleCallback',
  'FunctionCall',
  'MajorGC',
  'MinorGC',
  'RunMicrotasks',
  'TimerFire',
  'V8.GC_MC_INCREMENTAL',
  'v8.callFunction',
]);

const categories = [
  'devtools.timeline',
  'disabled-by-default-devtools.timeline.frame',
  'disabled-by-default-v8.gc',
  'v8',
];

/** Records the frames of a page in which scripts ran during `work`. */
export async function recordFrames(
  browser: Browser,
  page: Page,
  work: () => Promise<void>,
): Promise<Frame[]> {
  await browser.startTracing(page, { categories });
  await work();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  return framesOf(traceEvents);
}

function framesOf(events: readonly TraceEvent[]): Frame[] {
  const main = mainThread(events);
  const own = events.filter(({ pid, tid }) => pid === main.pid && tid === main.tid);
  const begins = own
    .filter(({ name }) => name === 'BeginMainThreadFrame')
    .map(({ ts }) => ts)
    .toSorted((a, b) => a - b);
  const frames = begins.map(() => ({ wallMs: 0, cpuMs: 0 }));
  let end = 0;
  let at = -1;
  for (const { ts, dur = 0, tdur = dur } of own
    .filter(({ name, ph }) => ph === 'X' && scripting.has(name))
    .toSorted((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0))) {
    // Nested in an event that was counted.
    if (ts < end) continue;
    end = ts + dur;
    while (begins[at + 1] !== undefined && begins[at + 1]! <= ts) at++;
    const frame = frames[at];
    if (!frame) continue;
    frame.wallMs += dur / 1_000;
    frame.cpuMs += tdur / 1_000;
  }
  return frames.filter(({ wallMs }) => wallMs > 0);
}

/** The main thread of the page: of the main threads of all renderers, the one with most frames. */
function mainThread(events: readonly TraceEvent[]): { pid: number; tid: number } {
  const frames = new Map<string, number>();
  for (const { name, pid, tid } of events)
    if (name === 'BeginMainThreadFrame') frames.set(`${pid} ${tid}`, (frames.get(`${pid} ${tid}`) ?? 0) + 1);
  const [thread] = [...frames].toSorted((a, b) => b[1] - a[1]);
  if (!thread) throw new Error('the trace has no frames');
  const [pid, tid] = thread[0].split(' ').map(Number);
  return { pid: pid!, tid: tid! };
}
