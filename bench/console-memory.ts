import { followedChanges } from './support/live-changes.ts';
import { batches, openLiveList, startWatched } from './support/live-list.ts';
import type { Report, Workload } from './support/report.ts';

const minutes = 10;
/** Minutes in which caches fill. */
const warmUp = 2;

/** Memory of a page of the console that shows a list that changes. */
export const consoleMemory: Workload = {
  name: 'console-memory',
  about: `The list of ${batches} batches in the console, of which one of each of 125 orgs changes about every second, for ${minutes} minutes: heap of the page after a forced collection in each minute.`,

  async run(): Promise<Report> {
    const watched = await startWatched();
    if ('reason' in watched) return { figures: [], notes: [`Not run: ${watched.reason}`] };
    try {
      await openLiveList(watched, 60 * (minutes + 1));
      const session = await watched.page.context().newCDPSession(watched.page);
      await session.send('Performance.enable');
      const changes = followedChanges(watched);
      const heaps: number[] = [];
      const nodes: number[] = [];
      for (let minute = 1; minute <= minutes; minute++) {
        await watched.page.waitForTimeout(60_000);
        await session.send('HeapProfiler.collectGarbage');
        const { metrics } = await session.send('Performance.getMetrics');
        const of = (wanted: string) => metrics.find(({ name }) => name === wanted)!.value;
        heaps.push(of('JSHeapUsedSize') / 2 ** 20);
        nodes.push(of('Nodes'));
      }
      const perSecond = (await changes.stop()) / (60 * minutes);
      return {
        figures: [
          { name: 'changes per second', value: perSecond },
          {
            name: `heap after ${minutes} minutes, against ${warmUp}`,
            value: heaps.at(-1)! / heaps[warmUp - 1]!,
            atMost: 1.05,
          },
          {
            name: `nodes after ${minutes} minutes, against ${warmUp}`,
            value: nodes.at(-1)! / nodes[warmUp - 1]!,
          },
          { name: `heap after ${minutes} minutes`, value: heaps.at(-1)!, unit: 'MiB' },
        ],
        notes: [`Heap of each minute in MiB: ${heaps.map((heap) => heap.toFixed(1)).join(', ')}.`],
      };
    } finally {
      await watched.stop();
    }
  },
};
