import { Command } from 'commander';
import type { Cli } from '../shared/cli.ts';
import { modelsInspect } from './inspect.ts';
import { modelsList } from './list.ts';
import { modelsLocal } from './local.ts';
import { modelsPull } from './pull.ts';

export function models(cli: Cli): Command {
  const command = new Command('models').description(
    'the models of a server, and model files on this machine',
  );
  for (const make of [modelsList, modelsLocal, modelsPull, modelsInspect]) command.addCommand(make(cli));
  return command;
}
