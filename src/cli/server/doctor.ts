import { Command } from 'commander';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { runDoctor } from './run-doctor.ts';
import { configOf, withServerFlags } from '../shared/server-flags.ts';
import type { ServerFlags } from '../shared/server-flags.ts';

export function doctor(cli: Cli): Command {
  return withServerFlags(new Command('doctor'))
    .option('--no-generate', 'give them no work: connect and ask for their models alone')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('', '--config offpeak.yaml --no-generate'))
    .action((flags: ServerFlags & { generate: boolean; json?: boolean }) =>
      runDoctor(cli, configOf(cli, flags), { generates: flags.generate, json: flags.json === true }),
    );
}
