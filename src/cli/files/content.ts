import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { clientCommand, examples } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { newFile } from '../shared/local-file.ts';
import { writeBytes } from '../terminal/write-bytes.ts';

interface Options extends ClientOptions {
  output?: string;
  force?: boolean;
}

export function filesContent(cli: Cli): Command {
  return clientCommand('content', 'print the bytes of a file')
    .argument('<id>')
    .option('-o, --output <file>', 'write to a file')
    .option('-f, --force', 'overwrite a file that is there already')
    .addHelpText('after', examples('file-0199f3a2 -o copy.jsonl'))
    .action(async (id: string, options: Options) => {
      const bytes = await connect(cli, options).files.content(id);
      if (options.output === undefined) return writeBytes(bytes, cli.terminal);
      return pipeline(
        Readable.from(bytes),
        createWriteStream(await newFile(options.output, cli.cwd, options.force)),
      );
    });
}
