import { Command } from 'commander';
import { batchCreate } from './create.ts';
import { batchList } from './list.ts';
import { batchCancel, batchGet, batchPause, batchResume, batchRetry } from './one.ts';
import { batchEvents } from './events.ts';
import { batchErrors, batchOutput } from './results.ts';
import { batchRun } from './run/run.ts';
import { batchWatch } from './watch.ts';
import type { Cli } from '../shared/cli.ts';

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
