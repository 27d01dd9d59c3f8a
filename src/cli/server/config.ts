import { Command } from 'commander';
import type { Cli } from '../shared/cli.ts';
import { configCheck } from './config-check.ts';

export function config(cli: Cli): Command {
  return new Command('config').description('the configuration of a server').addCommand(configCheck(cli));
}
