import { Command } from 'commander';
import { batchCreate } from './batch-create.ts';
import { batchList } from './batch-list.ts';
import { batchCancel, batchGet, batchPause, batchResume, batchRetry } from './batch-one.ts';
import { batchEvents } from './batch-events.ts';
import { batchErrors, batchOutput } from './batch-results.ts';
import { batchRun } from './batch-run.ts';
import { batchWatch } from './batch-watch.ts';
import type { Cli } from './cli.ts';

export function batch(cli: Cli): Command {
  const group = new Command('batch').description('run batches and collect their results');
  for (const make of [
    batchRun,
    batchCreate,
    batchList,
    batchGet,
    batchWatch,
    batchEvents,
    batchOutput,
    batchErrors,
    batchCancel,
    batchPause,
    batchResume,
    batchRetry,
  ])
    group.addCommand(make(cli));
  return group;
}
