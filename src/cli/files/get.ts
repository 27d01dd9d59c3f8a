import type { Command } from 'commander';
import { clientCommand, connect } from '../shared/cli.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { showFile } from './show-file.ts';

export function filesGet(cli: Cli): Command {
  return clientCommand('get', 'show a file')
    .argument('<id>')
    .action(async (id: string, options: ClientOptions) => {
      const file = await connect(cli, options).files.get(id);
      if (options.json === true) cli.terminal.json(file);
      else showFile(file, cli.terminal);
    });
}
