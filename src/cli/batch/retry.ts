import { Option } from 'commander';
import type { OperatorBatch, RemoteBatch, RemoteEstimate } from '../../client/resources.ts';
import { queryCommand } from '../shared/commands.ts';
import { CliError } from '../shared/exit-codes.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { retryWithModel } from './retry-with-model.ts';
import { showEstimate, showOperatorBatch } from './show-batch.ts';

interface Options {
  code?: string[];
  dryRun?: boolean;
  model?: string;
  window?: string;
}

/** Retry of a batch, of any org for operators. */
export const batchRetry = (isAdmin = false) =>
  queryCommand({
    usage: 'retry <id>',
    about: isAdmin
      ? 'run the failed requests of a finished batch again, for its org'
      : 'run the failed requests of a finished batch again, as a new batch',
    isAdmin,
    options: [
      new Option('--code <code...>', 'only requests that failed with one of these error codes'),
      new Option('--window <duration>', 'completion window (default: that of the batch)'),
      new Option('--dry-run', 'only count the requests and estimate their cost'),
      ...(isAdmin ? [] : [new Option('--model <id>', 'another model for these requests')]),
    ],
    examples: ['batch_0199f3a2', 'batch_0199f3a2 --code upstream_timeout upstream_error --dry-run'],
    async ask(client, id, { code: codes, dryRun, model, window }: Options, cli) {
      if (model !== undefined && dryRun === true)
        throw new CliError('--dry-run cannot be combined with --model.');
      if (model !== undefined) return retryWithModel(cli, client, id, { model, codes, window });
      const { batches } = isAdmin ? client.admin : client;
      const fields = { codes, window };
      return dryRun === true ? batches.retryDryRun(id, fields) : batches.retry(id, fields);
    },
    show: showRetry,
  });

function showRetry(answer: RemoteBatch | OperatorBatch | RemoteEstimate, terminal: Terminal): void {
  if (answer.object === 'batch.estimate') showEstimate(answer as RemoteEstimate, terminal);
  else showOperatorBatch(answer as RemoteBatch, terminal);
}
