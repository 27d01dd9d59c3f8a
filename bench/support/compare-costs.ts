import { type Cost, measureCost, type Target } from './cost.ts';
import { plain } from './formats.ts';
import { createDataFolder } from './offpeak.ts';
import { type Rounds, measureRounds } from './rounds.ts';
import { startUpstream } from './upstream.ts';

const connections = 64;
const requests = 6000;

/** Load on the compared servers, for the descriptions of workloads. */
export const comparedLoad = `POST /v1/chat/completions with ${connections} connections on an upstream that answers at once`;

type Start = (upstream: string, data: string) => Promise<Target & { stop(): Promise<void> }>;

interface Compared<Name extends string> {
  cold: Rounds<Name, Cost>['median'];
  median: Rounds<Name, Cost>['median'];
  notes: string[];
}

/**
 * Costs of the same chat completions on several servers with one upstream, in turns.
 * @param warm uncounted rounds: V8 optimizes over tens of thousands of requests
 */
export async function compareCosts<Name extends string>(
  starts: Record<Name, Start>,
  { warm, rounds }: { warm: number; rounds: number },
): Promise<Compared<Name>> {
  const names = Object.keys(starts) as Name[];
  const upstream = await startUpstream();
  const ends: (() => unknown)[] = [() => upstream.stop()];
  try {
    const targets = {} as Record<Name, Target>;
    for (const name of names) {
      const data = createDataFolder();
      ends.push(() => data.remove());
      const target = await starts[name](upstream.url('fast'), data.path);
      ends.push(() => target.stop());
      targets[name] = target;
    }
    const measure = (name: Name) => measureCost(targets[name], plain('chat'), { connections, requests });
    const { median: cold } = await measureRounds(names, warm, measure);
    const { median } = await measureRounds(names, rounds, measure);
    return {
      cold,
      median,
      notes: [
        `Medians of ${rounds} rounds of ${requests} requests each, alternating, after ${warm * requests} to warm up. CPU of all threads. Upstream in ${upstream.kind}.`,
      ],
    };
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}
