import { existsSync, readdirSync, statSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import { Command } from 'commander';
import { pluralize } from '../../base/words.ts';
import { blobStoreName } from '../../core/config.ts';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { CliError } from '../shared/exit-codes.ts';
import { readConfig, withServerFlags, type ServerFlags } from '../shared/server-flags.ts';

export function backup(cli: Cli): Command {
  return withServerFlags(new Command('backup'))
    .argument('<folder>', 'target, a new or empty folder')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('backups/monday --data ./offpeak-data'))
    .action(async (folder: string, flags: ServerFlags & { json?: boolean }) => {
      const { terminal } = cli;
      const config = readConfig(cli, flags, { missingModels: true });
      const { data, database } = config;
      const target = resolve(cli.cwd, folder);
      const isEmbedded = database === 'sqlite';
      const isBucket = config.files.bucket !== undefined;
      if (config.files.fallback)
        throw new CliError(
          'The files are in two stores while they are moved, so a backup of one would be incomplete.',
          `Finish the move with ${terminal.self.command} migrate blobs, and remove files.fallback.`,
        );
      if (isBucket && !isEmbedded)
        throw new CliError(
          'Nothing to back up here: the database is in Postgres and the files are in a bucket.',
          `Dump the database with pg_dump, then copy ${blobStoreName(config)}.`,
        );
      if (isEmbedded && !existsSync(resolve(data, 'offpeak.db')))
        throw new CliError(`No database in ${data}.`, 'Pass the data folder with --data.');
      if (existsSync(target) && !statSync(target).isDirectory())
        throw new CliError(`${folder} is a file.`, 'Choose a new folder.');
      if (existsSync(target) && readdirSync(target).length > 0)
        throw new CliError(`${folder} is not empty.`, 'Choose a new folder.');
      if (`${target}${sep}`.startsWith(`${data}${sep}`))
        throw new CliError(`${folder} is inside the data folder.`, 'Choose a folder elsewhere.');
      const { backUp } = await import('../../app/backup.ts');
      const copied = await backUp(data, target, { database: isEmbedded, files: !isBucket });
      if (flags.json === true) return terminal.json({ folder: target, ...copied });
      terminal.print(
        `Copied ${isEmbedded ? 'the database and ' : ''}${pluralize(copied.files, 'file')} (${copied.bytes} bytes) to ${target}.`,
      );
      if (isBucket)
        terminal.note(
          `The files are in ${blobStoreName(config)}. Copy them after the database. Do not start a second server on that bucket.`,
        );
      terminal.note(
        isEmbedded
          ? `To restore: ${terminal.self.command} serve --data ${folder}`
          : 'These files belong to a Postgres dump made before them (pg_dump).',
      );
    });
}
