import { type Figure, percentile, type Report, type Workload } from './support/report.ts';
import { large } from './scale/options.ts';
import { type ScaleResult, simulate } from './scale/simulate.ts';

const { processes, replicas, slots, orgs, open, deadProcesses, deadReplicas, postgres } = large;
const servers = replicas.reduce((sum, count) => sum + count, 0);

/** Simulation of an installation that no machine here can run. */
export const scale: Workload = {
  name: 'scale',
  about: `Simulation: ${processes} processes, ${servers} servers of ${replicas.length} models with ${slots} slots each, ${open} open batches of ${orgs} orgs, one Postgres. The batch engine is that of the server; its time, the servers and the database are simulated.`,

  async run(): Promise<Report> {
    const began = performance.now();
    const result = await simulate(large);
    return {
      figures: [...fillOf(result), ...sharesOf(result), ...databaseOf(result), ...batchesOf(result)],
      notes: [
        `Lines take ${(large.tokenMs * 400) / 1_000} s on average. Measured over ${large.phases.steady / 1_000} s after ${large.phases.warm / 1_000} s, then while servers and processes die.`,
        `Postgres has ${postgres.cores} cores. A claim takes ${postgres.claimMs} ms under the lock of its models, a renewal of slot leases ${postgres.lease.ms} ms and for each model ${postgres.lease.modelMs} ms and ${postgres.lease.processMs} ms for each process, a recorded group ${postgres.record.ms} ms and ${postgres.record.lineMs} ms for each line.`,
        'Simulated without heartbeats, closing of batches and interactive requests. A dead server is left alone for five seconds at a time, in place of probes.',
        `${result.events} events in ${((performance.now() - began) / 1_000).toFixed(0)} s. The same seed gives the same figures, but for these seconds.`,
      ],
    };
  },
};

function fillOf({ fill, lines, lostChunks, linesPerSecond }: ScaleResult): Figure[] {
  return [
    { name: 'slot time used', value: fill.steady, atLeast: 0.9 },
    { name: `slot time used, after ${deadReplicas} servers died`, value: fill.replicas },
    { name: `slot time used, after ${deadProcesses} processes died`, value: fill.processes },
    { name: 'lines recorded a second', value: linesPerSecond },
    { name: 'lines with a second result', value: lines.doubled, atMost: 0 },
    { name: 'chunks taken over from dead processes', value: lostChunks },
  ];
}

function sharesOf({ fairness }: ScaleResult): Figure[] {
  return fairness.flatMap(({ orgs: counted, heavyToLight }, at) => [
    { name: `orgs with work for model ${at + 1} all the time`, value: counted },
    {
      name: `tokens for the weight, orgs of weight 10 against weight 1, model ${at + 1}`,
      value: heavyToLight,
    },
  ]);
}

function databaseOf({ transactions, coresBusy }: ScaleResult): Figure[] {
  const seconds = large.phases.steady / 1_000;
  const kinds = Object.entries(transactions).flatMap(([kind, { count, waits, busyMs }]) => [
    { name: `${kind}: transactions a second`, value: count / seconds },
    { name: `${kind}: cores of Postgres`, value: busyMs / large.phases.steady },
    { name: `${kind}: wait for locks, p99`, value: percentile(waits, 99), unit: 'ms' },
  ]);
  return [...kinds, { name: 'cores of Postgres in all', value: coresBusy }];
}

function batchesOf({ firstLine, windows }: ScaleResult): Figure[] {
  return [
    { name: 'first line of a new org, median', value: percentile(firstLine.times, 50), unit: 'ms' },
    { name: 'first line of a new org, p99', value: percentile(firstLine.times, 99), unit: 'ms' },
    { name: 'batches of new orgs without a line after ten seconds', value: firstLine.never },
    { name: 'batches whose windows ended', value: windows.ended },
    { name: 'of these, with lines left', value: windows.missed },
  ];
}
