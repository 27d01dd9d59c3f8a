import { group } from '../shared/commands.ts';
import { batches } from './batches.ts';
import { pause, pauses, replicas, resume } from './controls.ts';
import { processes } from './processes.ts';
import { queue, requests } from './load.ts';

export const admin = group('admin', [
  (cli) => batches(cli).description('list and control the batches of all orgs'),
  queue,
  processes,
  pause,
  resume,
  pauses,
  (cli) => replicas(cli).description('list, drain and cap the servers of all models'),
  requests,
]);
