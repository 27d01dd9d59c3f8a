import type { Command, Option } from 'commander';

/** What may stand at one place of the command line. */
export interface CommandNode {
  /** ` batch run`: the commands up to here, each with a space before it; '' for the program itself. */
  path: string;
  /** The words that may follow; none where anything may. */
  words: Word[];
  flags: Flag[];
}

export interface Word {
  word: string;
  about: string;
}

export interface Flag {
  long: string;
  short: string | undefined;
  about: string;
  takesValue: boolean;
}

const help: Flag = { long: '--help', short: '-h', about: 'show how it is used', takesValue: false };

/** Every place of a command line, the program itself first. */
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
