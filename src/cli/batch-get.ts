import type { Command } from 'commander';
import { showBatch } from './batch/show-batch.ts';
import { clientCommand, connect } from './cli.ts';
import type { Cli, ClientOptions } from './cli.ts';

export function batchGet(cli: Cli): Command {
  return clientCommand('get', 'show a batch')
    .argument('<id>')
    .action(async (id: string, options: ClientOptions) => {
      const batch = await connect(cli, options).batches.get(id);
      if (options.json === true) cli.terminal.json(batch);
      else showBatch(batch, cli.terminal);
    });
}
