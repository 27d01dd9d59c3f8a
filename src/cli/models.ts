import { Command } from 'commander';
import type { Cli } from './cli.ts';
import { modelsInspect } from './models-inspect.ts';
import { modelsList } from './models-list.ts';
import { modelsLocal } from './models-local.ts';
import { modelsPull } from './models-pull.ts';

export function models(cli: Cli): Command {
  const command = new Command('models').description(
    'the models of a server, and model files on this machine',
  );
  for (const make of [modelsList, modelsLocal, modelsPull, modelsInspect]) command.addCommand(make(cli));
  return command;
}
