import { words } from '../../../../base/words.ts';
import type { JobState } from './runner.ts';

/** Words of Slurm, Kubernetes and Ray for a job that has ended; any other word means that it has not. */
const succeeded = new Set<string>(words('completed complete succeeded success successcriteriamet done'));
const failed = new Set<string>(
  words(
    'failed failure failuretarget error cancelled canceled timeout deadline node_fail out_of_memory preempted boot_fail revoked stopped',
  ),
);

/** State in the output of a status command: of its words, the last that says that the job has ended. */
export function readState(output: string): JobState {
  const found = output.toLowerCase().split(/[^a-z_]+/);
  for (const word of found.toReversed()) {
    if (succeeded.has(word)) return { state: 'succeeded' };
    if (failed.has(word)) return { state: 'failed', note: `The state of the job is ${output.trim()}.` };
  }
  return { state: 'running' };
}
