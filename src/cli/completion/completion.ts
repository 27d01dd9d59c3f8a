import { Argument, Command, type Option } from 'commander';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { type CommandNode, type Flag, scripts } from './scripts.ts';

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

const help: Flag = { long: '--help', short: '-h', about: 'show help', takesValue: false };

/** All commands of a command line, the program first. */
export function listCommands(command: Command, path = ''): CommandNode[] {
  const commands = command.commands.map((child) => ({ word: child.name(), about: child.description() }));
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const words = [...commands, ...choices.map((word) => ({ word, about: '' }))];
  const place = { path, words, flags: [...command.options.map(flagOf), help] };
  return [place, ...command.commands.flatMap((child) => listCommands(child, `${path} ${child.name()}`))];
}

function flagOf({ long, short, description, required, optional }: Option): Flag {
  return { long: long ?? '', short, about: description, takesValue: required || optional };
}
