import { Option } from 'commander';
import type { RemoteFile } from '../../client/resources.ts';
import { queryCommand, group, asTable, limitOption, fetchItems, wholeNumber } from '../shared/commands.ts';
import { openBlob } from '../shared/local-file.ts';
import { withLocalInput } from '../storage/local-input.ts';
import { isoTime, showWarnings } from '../shared/format.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { content } from './content.ts';
import { filesValidate } from './validate.ts';

const upload = queryCommand({
  usage: 'upload <file>',
  about: 'upload a JSONL file of requests, or an object: s3://bucket/key',
  options: [
    new Option(
      '--expires-after <seconds>',
      'delete the file after this time, from 3600 to 2592000 seconds',
    ).argParser(wholeNumber('--expires-after', 3600, 2_592_000)),
  ],
  examples: ['in.jsonl --expires-after 86400', 's3://bucket/in.jsonl'],
  ask: ({ files: remote }, file, { expiresAfter }: { expiresAfter?: number }, cli) =>
    withLocalInput(cli, file, async (path, filename) => {
      const blob = await openBlob(path);
      return remote.upload({ content: blob, filename, expiresAfterSeconds: expiresAfter });
    }),
  show: showFile,
});

const list = queryCommand({
  usage: 'list',
  about: 'list files, newest first',
  options: [
    limitOption(100),
    new Option('--purpose <purpose>', 'batch, batch_output, or another purpose that the server accepts'),
  ],
  examples: ['--purpose batch_output'],
  ask: ({ files: remote }, _, { limit, purpose }: { limit: number; purpose?: string }) =>
    fetchItems(limit, 1000, (query) => remote.list({ ...query, purpose })),
  show: asTable<RemoteFile>({
    id: ({ id }) => id,
    purpose: (file) => file.purpose,
    bytes: ({ bytes }) => String(bytes),
    created: (file) => isoTime(file.created_at),
    filename: ({ filename }) => filename,
  }),
});

const get = queryCommand({
  usage: 'get <id>',
  about: 'show a file',
  examples: ['file-0199f3a2'],
  ask: ({ files: remote }, id) => remote.get(id),
  show: showFile,
});

const remove = queryCommand({
  usage: 'delete <id>',
  about: 'delete a file',
  examples: ['file-0199f3a2'],
  ask: ({ files: remote }, id) => remote.remove(id),
  show: ({ id }, terminal) => terminal.print(`Deleted ${id}.`),
});

export const files = group('files', [upload, list, get, content, remove, filesValidate]);

function showFile(file: RemoteFile, terminal: Terminal): void {
  terminal.print(terminal.paint('bold', file.id));
  terminal.record([
    ['filename', file.filename],
    ['purpose', file.purpose],
    ['bytes', String(file.bytes)],
    ['created', isoTime(file.created_at)],
    ['expires', file.expires_at === undefined ? null : isoTime(file.expires_at)],
    ['status', file.status],
  ]);
  showWarnings(file.warnings, terminal);
}
