import { resolve } from 'node:path';
import type { Command } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import {
  type CardChoice,
  type EngineStatus,
  type InstallableKind,
  installableKinds,
} from '../../core/card.ts';
import { cardText } from '../shared/card-text.ts';
import type { Cli } from '../shared/cli.ts';
import { examples, group } from '../shared/commands.ts';
import { CliError, exitCodes } from '../shared/exit-codes.ts';
import { interruptible } from '../shared/signals.ts';
import { type FolderFlags, folderCommand, readFolders } from './model-files.ts';

export const engine = group('engine', [install, status, remove]);

function install(cli: Cli): Command {
  return folderCommand('install', 'install the build for a graphics card; npm fetches it')
    .argument('<kind>', installableKinds.join(' or '))
    .option('--from <file...>', 'package files (npm pack) to install without a network')
    .addHelpText(
      'after',
      examples('vulkan', 'cuda', 'vulkan --from node-llama-cpp-linux-x64-vulkan-3.21.1.tgz'),
    )
    .action(async (text: string, flags: FolderFlags & { from?: string[] }) => {
      const { terminal } = cli;
      const kind = kindOf(text);
      const files = (flags.from ?? []).map((file) => resolve(cli.cwd, file));
      const builds = await openBuilds(cli, flags);
      const stopped = new CliError('Stopped.', 'Nothing was changed.', exitCodes.interrupted);
      const { path, present } = await interruptible(cli, stopped, (signal) =>
        builds.install({
          kind,
          files,
          signal,
          onFetch: (packages) =>
            terminal.note(
              `${files.length > 0 ? 'Installing' : 'Fetching'} ${packages.join(' and ')} with npm ...`,
            ),
        }),
      );
      const choice = await builds.choose(kind);
      if (flags.json === true) return terminal.json({ kind, path, present, ...choiceJson(choice) });
      terminal.note(
        present ? 'It is already installed.' : 'Installed. Servers use it from their next start on.',
      );
      terminal.note(cardText(choice));
      terminal.print(path);
    });
}

function status(cli: Cli): Command {
  return folderCommand(
    'status',
    'show the builds of the embedded engine, and the graphics cards that it can use',
  )
    .addHelpText('after', examples(''))
    .action(async (flags: FolderFlags) => {
      const found = await (await openBuilds(cli, flags)).status();
      if (flags.json === true) cli.terminal.json(statusJson(found));
      else showStatus(cli, found);
    });
}

function remove(cli: Cli): Command {
  return folderCommand('remove', 'remove the build for a graphics card, or all of them')
    .argument('[kind]', installableKinds.join(' or '))
    .addHelpText('after', examples('', 'cuda'))
    .action(async (text: string | undefined, flags: FolderFlags) => {
      const kind = text === undefined ? undefined : kindOf(text);
      const removed = await (await openBuilds(cli, flags)).remove(kind);
      if (flags.json === true) return cli.terminal.json({ removed });
      cli.terminal.note(removed.length > 0 ? `Removed ${removed.join(', ')}.` : 'No build is installed.');
    });
}

function kindOf(text: string): InstallableKind {
  const kind = installableKinds.find((each) => each === text);
  if (kind) return kind;
  const hint = text === 'metal' ? 'On Macs, the standard build uses the card, with Metal.' : undefined;
  throw new CliError(`The build must be ${installableKinds.join(' or ')}, not '${text}'.`, hint);
}

async function openBuilds(cli: Cli, flags: FolderFlags) {
  const config = await readFolders(cli, flags);
  const { openEngineBuilds } = await import('../../app/engine-builds.ts');
  return openEngineBuilds(config, cli.env);
}

function showStatus({ terminal }: Cli, { version, folder, builds, choice }: EngineStatus): void {
  terminal.record([
    ['engine', `node-llama-cpp ${version}`],
    ['folder', folder],
    ['builds', builds.length === 0 ? 'processor' : null],
    ...builds.map((build): [string, string] => [
      build.kind,
      `${build.version}, ${formatBytes(build.bytes)}, ${build.state}`,
    ]),
    ['used', cardText(choice)],
  ]);
  if (builds.length > 0 || choice.found) return;
  const { command } = terminal.self;
  terminal.note(
    `For a graphics card: ${command} engine install vulkan, or with NVIDIA's CUDA: ${command} engine install cuda.`,
  );
}

function choiceJson({ found, why }: CardChoice) {
  return {
    gpu: found && { kind: found.kind, cards: found.cards, total: found.total, shared: found.isShared },
    why,
  };
}

function statusJson({ choice, ...rest }: EngineStatus) {
  return { ...rest, ...choiceJson(choice) };
}
