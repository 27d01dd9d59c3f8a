import type { Command, Option } from 'commander';

/** Command with its completions. */
export interface CommandNode {
  /** Path such as ` batch run`, with a space before each command; '' for the program. */
  path: string;
  /** Subcommands or choices; empty if any word can follow. */
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
