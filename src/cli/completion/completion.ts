import { Argument, Command } from 'commander';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { scripts } from './scripts.ts';
import { listCommands } from './command-tree.ts';

export function completion(cli: Cli): Command {
  const shell = new Argument('<shell>').choices(Object.keys(scripts));
  return new Command('completion')
    .addArgument(shell)
    .addHelpText(
      'after',
      examples(
        'bash >> ~/.bashrc',
        'zsh > ~/.zfunc/_offpeak',
        'fish > ~/.config/fish/completions/offpeak.fish',
      ),
    )
    .action((name: keyof typeof scripts, _options: unknown, command: Command) => {
      const program = command.parent ?? command;
      cli.terminal.stdout.write(scripts[name](listCommands(program)));
    });
}
