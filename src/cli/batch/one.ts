import type { Command } from 'commander';
import type { BatchesClient } from '../../client/batches.ts';
import type { RemoteBatch } from '../../client/resources.ts';
import type { Cli } from '../shared/cli.ts';
import { one } from '../shared/commands.ts';
import { showBatch } from './show-batch.ts';

type Ask = (batches: BatchesClient, id: string) => Promise<RemoteBatch>;

function oneBatch(name: string, about: string, ask: Ask): (cli: Cli) => Command {
  return one({
    name,
    about,
    example: 'batch_0199f3a2',
    ask: ({ batches }, id) => ask(batches, id),
    show: showBatch,
  });
}

/** Commands that ask for one thing of one batch and show what it is then. */
export const oneBatchCommands = {
  get: oneBatch('get', 'show a batch', (batches, id) => batches.get(id)),
  cancel: oneBatch('cancel', 'cancel a batch; what is done already stays', (batches, id) =>
    batches.cancel(id),
  ),
  pause: oneBatch('pause', 'send nothing more of a batch; its window goes on', (batches, id) =>
    batches.pause(id),
  ),
  resume: oneBatch('resume', 'let a paused batch go on', (batches, id) => batches.resume(id)),
  retry: oneBatch('retry', 'run the failed requests of a finished batch again, as a new one', (batches, id) =>
    batches.retry(id),
  ),
};
