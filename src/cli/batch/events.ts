import type { Command } from 'commander';
import { isFinal } from '../../core/batch.ts';
import { exitCodeOf } from './outcome.ts';
import { clientCommand, examples } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';

export function batchEvents(cli: Cli): Command {
  return clientCommand('events', 'print a batch as JSON each time it has changed, until it is done')
    .argument('<id>')
    .addHelpText('after', examples('batch_0199f3a2'))
    .action(async (id: string, options: ClientOptions) => {
      for await (const batch of connect(cli, options).batches.events(id)) {
        cli.terminal.json(batch);
        if (isFinal(batch.status)) cli.exitCode = exitCodeOf(batch);
      }
    });
}
