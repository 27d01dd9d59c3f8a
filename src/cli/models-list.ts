import type { Command } from 'commander';
import { clientCommand, connect } from './cli.ts';
import type { Cli, ClientOptions } from './cli.ts';

export function modelsList(cli: Cli): Command {
  return clientCommand('list', 'list the models this key may use').action(async (options: ClientOptions) => {
    const { data } = await connect(cli, options).models.list();
    if (options.json === true) return cli.terminal.json(data);
    const rows = data.map((model) => [
      model.id,
      (model.aliases ?? []).join(', '),
      (model.serves ?? []).join(', '),
    ]);
    cli.terminal.table(['id', 'aliases', 'serves'], rows);
  });
}
