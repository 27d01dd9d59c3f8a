import { runLoad } from './load.ts';
import type { ClosedLoop, Load } from './load.ts';
import type { Figures } from './measured.ts';

/** Server whose CPU is measured. */
export interface Target {
  port: number;
  figures(question?: 'figures' | 'reset'): Promise<Figures>;
}

export interface Cost {
  /** CPU per request, of all threads. */
  cpuUs: number;
  perSecond: number;
  peakMb: number;
}

/** Measures the cost per request of `target` under a closed loop. */
export async function measureCost(target: Target, load: Load, loop: Omit<ClosedLoop, 'port'>): Promise<Cost> {
  const before = await target.figures('reset');
  const seconds = await runLoad(load, { ...loop, port: target.port });
  const after = await target.figures();
  return {
    cpuUs: (after.cpuUs - before.cpuUs) / loop.requests,
    perSecond: loop.requests / seconds,
    peakMb: after.peakRss / 1e6,
  };
}
