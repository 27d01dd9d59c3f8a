import type { Command } from 'commander';
import { clientCommand, connect } from '../shared/cli.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';

export function webhooksDelete(cli: Cli): Command {
  return clientCommand('delete', 'delete a webhook and its deliveries')
    .argument('<id>')
    .action(async (id: string, options: ClientOptions) => {
      const answer = await connect(cli, options).webhooks.remove(id);
      if (options.json === true) cli.terminal.json(answer);
      else cli.terminal.print(`Deleted ${answer.id}.`);
    });
}
