import { once } from 'node:events';
import { createWriteStream, existsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { makeFolder } from '../../base/make-folder.ts';
import { cleanText } from '../terminal/clean-text.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Cli } from '../shared/cli.ts';
import { CliError } from '../shared/exit-codes.ts';
import { isObjectUrl } from './object-url.ts';
import type { ObjectDeps } from './open-bucket.ts';
import { checkWritable, storeBytes } from './store-object.ts';

/** Output flags of a command that downloads bytes. */
export interface OutputOptions {
  output?: string;
  force?: boolean;
}

export function withOutput(command: Command): Command {
  return command
    .option('-o, --output <file>', 'write to a file, or to an object: s3://bucket/key')
    .option('-f, --force', 'overwrite an existing file or object');
}

/**
 * Writes bytes to the output file, whose folder is created, to an object, or to stdout. A new file is removed when the disk is full.
 * @throws CliError for a folder, or for an existing file without `force`
 */
export async function writeOut(
  bytes: AsyncIterable<Uint8Array>,
  { output, force }: OutputOptions,
  cli: ObjectDeps & Pick<Cli, 'terminal' | 'cwd'>,
): Promise<void> {
  const { terminal, cwd } = cli;
  if (output === undefined) return print(bytes, terminal);
  if (isObjectUrl(output)) {
    await checkWritable(cli, output, force === true);
    return storeBytes(cli, output, bytes);
  }
  const path = resolve(cwd, output);
  const isThere = existsSync(path);
  if (isThere && statSync(path).isDirectory())
    throw new CliError(`${output} is a folder.`, 'Pass the path of a file.');
  if (isThere && force !== true)
    throw new CliError(`${output} already exists.`, 'Pass --force to overwrite it.');
  await makeFolder(dirname(path));
  try {
    await pipeline(Readable.from(bytes), createWriteStream(path));
  } catch (error) {
    // Otherwise the same command would fail later, because the file exists.
    const isFull = error instanceof Error && 'code' in error && error.code === 'ENOSPC';
    if (isFull && !isThere) await rm(path, { force: true });
    throw error;
  }
}

/** Prints bytes, without control characters on a terminal. */
async function print(chunks: AsyncIterable<Uint8Array>, { stdout }: Terminal): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks) {
    const shown = stdout.isTTY === true ? cleanText(decoder.decode(chunk, { stream: true })) : chunk;
    if (!stdout.write(shown)) await once(stdout, 'drain');
  }
}
