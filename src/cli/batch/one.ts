import type { Command } from 'commander';
import type { BatchesClient } from '../../client/batches.ts';
import type { RemoteBatch } from '../../client/resources.ts';
import { showBatch } from './show-batch.ts';
import { clientCommand, connect } from '../shared/cli.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';

/** Commands that ask for one thing of one batch and show what it is then. */
function oneBatch(
  cli: Cli,
  [name, description]: [string, string],
  ask: (batches: BatchesClient, id: string) => Promise<RemoteBatch>,
): Command {
  return clientCommand(name, description)
    .argument('<id>')
    .action(async (id: string, options: ClientOptions) => {
      const batch = await ask(connect(cli, options).batches, id);
      if (options.json === true) cli.terminal.json(batch);
      else showBatch(batch, cli.terminal);
    });
}

export const batchGet = (cli: Cli) =>
  oneBatch(cli, ['get', 'show a batch'], (batches, id) => batches.get(id));

export const batchCancel = (cli: Cli) =>
  oneBatch(cli, ['cancel', 'cancel a batch; what is done already stays'], (batches, id) =>
    batches.cancel(id),
  );

export const batchRetry = (cli: Cli) =>
  oneBatch(cli, ['retry', 'run the failed requests of a finished batch again, as a new one'], (batches, id) =>
    batches.retry(id),
  );

export const batchPause = (cli: Cli) =>
  oneBatch(cli, ['pause', 'send nothing more of a batch; its window goes on'], (batches, id) =>
    batches.pause(id),
  );

export const batchResume = (cli: Cli) =>
  oneBatch(cli, ['resume', 'let a paused batch go on'], (batches, id) => batches.resume(id));
