import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import { parseMetadata } from './metadata.ts';
import { readInput } from './run/read-input.ts';
import { showBatch } from './show-batch.ts';
import { clientCommand, examples, tell } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { existingFile, openBlob } from '../shared/local-file.ts';

interface Options extends ClientOptions {
  endpoint?: string;
  metadata?: string[];
}

export function batchCreate(cli: Cli): Command {
  return clientCommand('create', 'create a batch and return at once')
    .argument('<input>', 'a JSONL file, or the id of an uploaded one')
    .option(
      '--endpoint <path>',
      'what the requests call (default: what the file says, else /v1/chat/completions)',
    )
    .option('-m, --metadata <key=value...>', 'metadata of the batch')
    .addHelpText('after', examples('in.jsonl -m team=search', 'file-0199f3a2 --endpoint /v1/embeddings'))
    .action(async (input: string, options: Options) => {
      const client = connect(cli, options);
      const metadata = parseMetadata(options.metadata);
      let inputFileId = input;
      let endpoint = options.endpoint ?? '/v1/chat/completions';
      if (!input.startsWith('file-') || existsSync(resolve(cli.cwd, input))) {
        const path = existingFile(input, cli.cwd);
        endpoint = options.endpoint ?? (await readInput(path)).endpoint;
        const file = await client.files.upload({ content: await openBlob(path), filename: basename(path) });
        inputFileId = file.id;
      }
      const batch = await client.batches.create({ endpoint, inputFileId, metadata });
      tell(cli, options, batch, showBatch);
    });
}
