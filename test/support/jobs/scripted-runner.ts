import type { JobOrder, JobRunner, JobState } from '../../../src/engines/upstream/jobs/runners/runner.ts';

/** Runner whose jobs a test starts, ends and loses. */
export interface ScriptedRunner extends JobRunner {
  /** Orders of the started jobs, oldest first. */
  orders: JobOrder[];
  states: Map<string, JobState>;
  cancelled: string[];
  /** Error of every call, while the runner is away. */
  fault: Error | undefined;
}

export function createScriptedRunner(): ScriptedRunner {
  const runner: ScriptedRunner = {
    name: 'scripted',
    orders: [],
    states: new Map(),
    cancelled: [],
    fault: undefined,
    async start(order) {
      requireRunner();
      if (!runner.states.has(order.id)) runner.orders.push(order);
      runner.states.set(order.id, { state: 'running' });
      return `handle of ${order.id}`;
    },
    async stateOf({ id, handle }) {
      requireRunner();
      if (handle !== `handle of ${id}`) throw new Error(`unknown handle ${handle}`);
      return runner.states.get(id) ?? { state: 'failed', note: 'unknown job' };
    },
    async cancel({ id }) {
      requireRunner();
      runner.cancelled.push(id);
      runner.states.set(id, { state: 'failed', note: 'cancelled' });
    },
    logOf: async () => 'the last lines of the log',
    check: async () => requireRunner(),
    stop: () => Promise.resolve(),
  };

  function requireRunner(): void {
    if (runner.fault) throw runner.fault;
  }

  return runner;
}
