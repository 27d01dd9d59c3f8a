import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import type { MovedFiles } from '../../app/move-blobs.ts';
import { pluralize } from '../../base/words.ts';
import { BlobError } from '../../core/blob-error.ts';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { CliError, exitCodes } from '../shared/exit-codes.ts';
import { readConfig, withServerFlags, type ServerFlags } from '../shared/server-flags.ts';
import { interruptible } from '../shared/signals.ts';
import { createMeter } from '../terminal/meter.ts';
import type { Terminal } from '../terminal/terminal.ts';

type Flags = ServerFlags & { delete?: boolean; json?: boolean };

const goOn = 'Run the command again to go on: copied files are not copied twice.';

export function migrateBlobs(cli: Cli): Command {
  return withServerFlags(new Command('blobs'))
    .description('copy all files from files.fallback to files.store, and verify them')
    .option('--delete', 'delete each file from files.fallback once its copy is verified')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('--config offpeak.yaml', '--config offpeak.yaml --delete'))
    .action(async (flags: Flags) => {
      const { terminal } = cli;
      const config = readConfig(cli, flags, { missingModels: true });
      if (!config.files.fallback)
        throw new CliError(
          'There is nothing to move: the configuration has no files.fallback.',
          'Name the store that holds the files as files.fallback and the new one as files.store, for all servers first.',
        );
      if (config.database === 'sqlite' && !existsSync(join(config.data, 'offpeak.db')))
        throw new CliError(`No database in ${config.data}.`, 'Pass the data folder with --data.');
      const stopped = new CliError('Stopped.', goOn, exitCodes.interrupted);
      const moved = await interruptible(cli, stopped, (signal) =>
        move(terminal, config, { removes: flags.delete === true, signal }),
      );
      if (moved.failed.length + moved.damaged.length > 0) cli.exitCode = exitCodes.usage;
      if (flags.json === true) {
        const { share: _, copiedBytes: bytes, ...rest } = moved;
        return terminal.json({ ...rest, bytes });
      }
      show(moved, terminal);
    });
}

async function move(
  terminal: Terminal,
  config: ReturnType<typeof readConfig>,
  options: { removes: boolean; signal: AbortSignal },
): Promise<MovedFiles> {
  const { moveFiles } = await import('../../app/move-blobs.ts');
  const meter = createMeter(terminal);
  try {
    return await moveFiles(config, {
      ...options,
      onProgress({ share, copied, present, copiedBytes }) {
        const details = [`${copied + present} verified`, `${formatBytes(copiedBytes)} copied`];
        const step = String(Math.floor(share * 10));
        meter.update({ head: 'files', done: share, total: 1, details, step });
      },
    });
  } catch (error) {
    if (!(error instanceof BlobError)) throw error;
    throw new CliError(error.message, `${error.hint} ${goOn}`, exitCodes.unreachable);
  } finally {
    meter.stop();
  }
}

function show(moved: MovedFiles, terminal: Terminal): void {
  const { from, to, copied, copiedBytes, present, removed, damaged, failed } = moved;
  terminal.print(
    `${to} has ${pluralize(copied + present, 'file')} of ${from}, verified: ${copied} copied now (${formatBytes(copiedBytes)}), ${present} before.`,
  );
  if (removed > 0) terminal.print(`Deleted ${pluralize(removed, 'file')} from ${from}.`);
  for (const name of failed)
    terminal.print(`${name}: its copy reads differently and was removed. Run the command again.`);
  for (const name of damaged)
    terminal.print(
      `${name}: its content in ${from} is not what the database says. Restore it from a backup.`,
    );
}
