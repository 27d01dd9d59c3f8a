import { group } from '../shared/commands.ts';
import { batchCreate } from './create.ts';
import { batchEvents } from './events.ts';
import { batchList } from './list.ts';
import { oneBatchCommands } from './one.ts';
import { batchErrors, batchOutput } from './results.ts';
import { batchRun } from './run/run.ts';
import { batchWatch } from './watch.ts';

const { get, cancel, pause, resume, retry } = oneBatchCommands;

export const batch = group('batch', [
  batchRun,
  batchCreate,
  batchList,
  get,
  batchWatch,
  batchEvents,
  batchOutput,
  batchErrors,
  cancel,
  pause,
  resume,
  retry,
]);
