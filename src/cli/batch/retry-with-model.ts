import { createWriteStream, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseLine, splitLines } from '../../base/byte-lines.ts';
import type { Client } from '../../client/client.ts';
import { ClientError } from '../../client/errors.ts';
import type { RemoteBatch, ResultLine } from '../../client/resources.ts';
import { isFinal } from '../../core/batch.ts';
import type { Cli } from '../shared/cli.ts';
import { CliError } from '../shared/exit-codes.ts';
import { openBlob } from '../shared/local-file.ts';
import { resultLines } from './run/download.ts';
import { toChange } from './run/prepare-input.ts';

export interface RetryChoice {
  model: string;
  /** Error codes; all if undefined. */
  codes: readonly string[] | undefined;
  /** Completion window; that of the batch, if the server still offers it, for undefined. */
  window: string | undefined;
}

/**
 * Runs the failed requests of a finished batch again with another model. The server retries requests as they are, so they are
 * downloaded, changed and uploaded as a file of their own.
 */
export async function retryWithModel(
  cli: Cli,
  client: Client,
  id: string,
  { model, codes, window }: RetryChoice,
): Promise<RemoteBatch> {
  const batch = await client.batches.get(id);
  if (!isFinal(batch.status)) throw new CliError(`${id} has not ended.`, 'Wait for it, or cancel it first.');
  const failed = await failedIds(cli, client, { id, codes });
  if (failed.size === 0)
    throw new CliError(`${id} has no failed requests${codes === undefined ? '' : ' with these codes'}.`);
  const random = Buffer.from(cli.random.bytes(8)).toString('hex');
  const copy = join(tmpdir(), `offpeak-${random}.jsonl`);
  try {
    const { bytes } = await client.files.content(batch.input_file_id);
    const lines = changedLines(bytes, failed, model);
    await pipeline(lines, createWriteStream(copy, { mode: 0o600 }));
    const filename = `retry-of-${id}.jsonl`;
    const { id: inputFileId } = await client.files.upload({ content: await openBlob(copy), filename });
    const { endpoint, priority } = batch;
    const metadata = { ...batch.metadata, retry_of: id };
    const fields = { endpoint, inputFileId, metadata, priority: priority ?? undefined };
    const create = (named: string | undefined) => client.batches.create({ ...fields, window: named });
    return await create(window ?? batch.completion_window).catch((error: unknown) => {
      if (window !== undefined || !isUnknownWindow(error)) throw error;
      return create(undefined);
    });
  } finally {
    rmSync(copy, { force: true });
  }
}

function isUnknownWindow(error: unknown): boolean {
  return (
    error instanceof ClientError &&
    error.code === 'validation_error' &&
    error.faults.some(({ param }) => param === 'completion_window')
  );
}

async function failedIds(
  { clock }: Cli,
  client: Client,
  { id, codes }: { id: string; codes: readonly string[] | undefined },
): Promise<Set<string>> {
  const failed = new Set<string>();
  for await (const bytes of resultLines({ client, clock, batchId: id }, 'errors')) {
    const line = parseLine(bytes) as ResultLine | undefined;
    if (line !== undefined && (codes === undefined || codes.includes(codeOf(line))))
      failed.add(line.custom_id);
  }
  return failed;
}

function codeOf({ error, response }: ResultLine): string {
  const body = response?.body as { error?: { code?: string } } | undefined;
  return error?.code ?? body?.error?.code ?? '';
}

async function* changedLines(
  chunks: AsyncIterable<Uint8Array>,
  wanted: ReadonlySet<string>,
  model: string,
): AsyncGenerator<string> {
  const change = toChange({ model })!;
  let number = 0;
  for await (const { bytes } of splitLines(chunks)) {
    number++;
    const request = parseLine(bytes);
    if (request === undefined || !wanted.has(String(request['custom_id']))) continue;
    yield `${change(Buffer.from(bytes).toString('utf8'), request, number)}\n`;
  }
}
