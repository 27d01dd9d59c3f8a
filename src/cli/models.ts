import { Command } from 'commander';
import type { Cli } from './cli.ts';
import { modelsList } from './models-list.ts';

export function models(cli: Cli): Command {
  return new Command('models').description('the models of a server').addCommand(modelsList(cli));
}
