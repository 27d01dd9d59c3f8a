import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { RemoteBatch } from '../../client/resources.ts';
import { isFinal } from '../../core/batch.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import {
  queryCommand,
  clientCommand,
  examples,
  group,
  metadataOption,
  priorityOption,
  windowOption,
} from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import { exitCodes } from '../shared/exit-codes.ts';
import { openBlob } from '../shared/local-file.ts';
import { interruptible } from '../shared/signals.ts';
import { withLocalInput } from '../storage/local-input.ts';
import { pollUntilDone } from './poll.ts';
import { batchLine, batchLines } from './lines.ts';
import { batchAct } from './act.ts';
import { batchList } from './list.ts';
import { createProgress, noProgress } from './progress.ts';
import { batchRetry } from './retry.ts';
import { batchErrors, batchOutput } from './results.ts';
import { readInput } from './run/read-input.ts';
import { batchRun } from './run/run.ts';
import { showHistory } from './show-history.ts';
import { exitCodeOf, showBatch } from './show-batch.ts';

interface NewBatch {
  endpoint?: string;
  metadata?: Record<string, string>;
  priority?: number;
  window?: string;
  strictFields?: boolean;
}

const create = queryCommand({
  usage: 'create <input>',
  about: 'create a batch from a JSONL file or the id of an uploaded file, and return at once',
  options: [
    new Option(
      '--endpoint <path>',
      'endpoint of the requests (default: that of the file, else /v1/chat/completions)',
    ),
    metadataOption,
    priorityOption,
    windowOption,
    new Option('--strict-fields', 'reject unknown fields in the requests, such as misspelt parameters'),
  ],
  examples: ['in.jsonl -m team=search', 'file-0199f3a2 --endpoint /v1/embeddings'],
  async ask({ files, batches }, input, { endpoint, ...options }: NewBatch, cli) {
    if (input.startsWith('file-') && !existsSync(resolve(cli.cwd, input)))
      return batches.create({
        endpoint: endpoint ?? '/v1/chat/completions',
        inputFileId: input,
        ...options,
      });
    return withLocalInput(cli, input, async (path, filename) => {
      const named = endpoint ?? (await readInput(path)).endpoint;
      const file = await files.upload({ content: await openBlob(path), filename });
      return batches.create({ endpoint: named, inputFileId: file.id, ...options });
    });
  },
  show: showBatch,
});

const get = batchCommand('get', 'show a batch');

const watch = queryCommand({
  usage: 'watch <id>',
  about: 'show the progress of a batch until it ends',
  examples: ['batch_0199f3a2'],
  async ask(client, id, { json }, cli) {
    const progress = json === true ? noProgress : createProgress(cli.terminal, cli.clock);
    const first = await client.batches.get(id);
    let last: RemoteBatch | undefined;
    const look = async () => {
      last = last === undefined ? first : await client.batches.get(id);
      progress.update(last);
      return isFinal(last.status);
    };
    const deps = { clock: cli.clock, note: (text: string) => progress.note(text) };
    const wait = (signal: AbortSignal) => pollUntilDone(look, { ...deps, signal });
    await interruptible(cli, undefined, wait).finally(() => progress.stop());
    return last ?? first;
  },
  exitCodeOf: (batch) => (isFinal(batch.status) ? exitCodeOf(batch) : exitCodes.interrupted),
  show: showBatch,
});

const cancel = batchCommand('cancel', 'cancel a batch; finished results are kept');
const pause = batchCommand('pause', 'stop sending requests of a batch; its window keeps running');
const resume = batchCommand('resume', 'resume a paused batch');

const history = queryCommand({
  usage: 'history <id>',
  about: 'show the states, the waits and the progress of a batch over time',
  examples: ['batch_0199f3a2', 'batch_0199f3a2 --json'],
  ask: ({ batches }, id) => batches.history(id),
  show: showHistory,
});

export const batch = group('batch', [
  batchRun,
  create,
  batchList,
  get,
  watch,
  events,
  history,
  batchOutput,
  batchErrors,
  batchLines(),
  batchLine(),
  cancel,
  pause,
  resume,
  batchRetry(),
  batchAct(),
]);

/** Command that reads or changes one batch and shows it. */
function batchCommand(name: 'get' | 'cancel' | 'pause' | 'resume', about: string) {
  return queryCommand({
    usage: `${name} <id>`,
    about,
    examples: ['batch_0199f3a2'],
    ask: ({ batches }, id) => (name === 'get' ? batches.get(id) : batches.act(id, name)),
    show: showBatch,
  });
}

function events(cli: Cli): Command {
  return clientCommand('events', 'print a batch, or all batches, as a line of JSON after each change')
    .argument('[id]', 'batch to print until it ends; all batches of the org by default')
    .addHelpText('after', examples('batch_0199f3a2', ''))
    .action(async (id: string | undefined, options: ClientOptions) => {
      const { batches } = connect(cli, options);
      if (id === undefined) {
        const print = async (signal: AbortSignal) => {
          try {
            for await (const seen of batches.allEvents(signal)) cli.terminal.json(seen);
          } catch (error) {
            if (!signal.aborted) throw error;
          }
        };
        return interruptible(cli, undefined, print);
      }
      for await (const seen of batches.events(id)) {
        cli.terminal.json(seen);
        if (isFinal(seen.status)) cli.exitCode = exitCodeOf(seen);
      }
    });
}
