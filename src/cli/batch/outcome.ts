import type { RemoteBatch } from '../../client/resources.ts';
import { exitCodes } from '../shared/exit-codes.ts';
import type { ExitCode } from '../shared/exit-codes.ts';

/** The exit code that a finished batch stands for. */
export function exitCodeOf(batch: RemoteBatch): ExitCode {
  if (batch.status === 'failed') return exitCodes.batchFailed;
  if (batch.status === 'expired' || batch.status === 'cancelled') return exitCodes.batchStopped;
  return batch.request_counts.failed > 0 ? exitCodes.linesFailed : exitCodes.ok;
}
