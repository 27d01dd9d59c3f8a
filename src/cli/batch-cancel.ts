import type { Command } from 'commander';
import { showBatch } from './batch/show-batch.ts';
import { clientCommand, connect } from './cli.ts';
import type { Cli, ClientOptions } from './cli.ts';

export function batchCancel(cli: Cli): Command {
  return clientCommand('cancel', 'cancel a batch; what is done already stays')
    .argument('<id>')
    .action(async (id: string, options: ClientOptions) => {
      const batch = await connect(cli, options).batches.cancel(id);
      if (options.json === true) cli.terminal.json(batch);
      else showBatch(batch, cli.terminal);
    });
}
