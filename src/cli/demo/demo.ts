import { Command } from 'commander';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';

export function demo(cli: Cli): Command {
  return new Command('demo')
    .option('--keep', 'leave the server running afterwards, until Ctrl-C')
    .addHelpText('after', examples('', '--keep'))
    .action(async (options: { keep?: boolean }) => {
      const { runDemo } = await import('./run-demo.ts');
      await runDemo(cli, options.keep === true);
    });
}
