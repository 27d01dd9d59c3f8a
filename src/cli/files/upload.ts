import { basename } from 'node:path';
import type { Command } from 'commander';
import { clientCommand, examples, tell, wholeNumber } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { showFile } from './show-file.ts';
import { existingFile, openBlob } from '../shared/local-file.ts';

interface Options extends ClientOptions {
  expiresAfter?: number;
}

export function filesUpload(cli: Cli): Command {
  return clientCommand('upload', 'upload a JSONL file of requests')
    .argument('<file>')
    .option(
      '--expires-after <seconds>',
      'delete it by itself after 3600 to 2592000 seconds',
      wholeNumber('--expires-after', 3600, 2_592_000),
    )
    .addHelpText('after', examples('in.jsonl --expires-after 86400'))
    .action(async (file: string, options: Options) => {
      const path = existingFile(file, cli.cwd);
      const uploaded = await connect(cli, options).files.upload({
        content: await openBlob(path),
        filename: basename(path),
        expiresAfterSeconds: options.expiresAfter,
      });
      tell(cli, options, uploaded, showFile);
    });
}
