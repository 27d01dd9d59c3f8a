import type { Command } from 'commander';

/** Commands below and including `command` that do something by themselves, with their full names. */
export function runnableCommands(
  command: Command,
  path: string[] = [],
): { name: string; command: Command }[] {
  const here = [...path, command.name()];
  const { _actionHandler: action } = command as unknown as { _actionHandler: unknown };
  const own = typeof action === 'function' ? [{ name: here.join(' '), command }] : [];
  return [...own, ...command.commands.flatMap((child) => runnableCommands(child, here))];
}
