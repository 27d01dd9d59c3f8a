import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { type Command, Option } from 'commander';
import type { Client } from '../../client/client.ts';
import { type AuditEntry, auditActions, type AuditHead, auditId, auditSequence } from '../../core/audit.ts';
import { createAuditCheck } from '../../core/audit-chain.ts';
import { type Fields, parseOrUndefined } from '../../base/fields.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import {
  asTable,
  clientCommand,
  examples,
  fetchItems,
  group,
  limitOption,
  pagesOf,
  queryCommand,
} from '../shared/commands.ts';
import { connectAdmin } from '../shared/connect.ts';
import { CliError, exitCodes } from '../shared/exit-codes.ts';
import { existingFile } from '../shared/local-file.ts';
import { cleanLine } from '../terminal/clean-text.ts';
import type { Terminal } from '../terminal/terminal.ts';

const pageSize = 1_000;

const list = queryCommand({
  usage: 'list',
  about: 'list the changes that administrators made, newest first',
  isAdmin: true,
  options: [
    limitOption(50),
    new Option('--actor <id>', 'only changes by this key'),
    new Option('--action <action>', 'only changes of this kind').choices(auditActions),
    new Option('--target <id>', 'only changes of what has this id'),
  ],
  examples: ['', '--action key.create', '--target org_0199f3a2 --json'],
  ask: (
    client,
    _,
    { limit, actor, action, target }: { limit: number; actor?: string; action?: string; target?: string },
  ) => fetchItems(limit, pageSize, (query) => client.audit.list({ ...query, actor, action, target })),
  show: (entries: AuditEntry[], terminal) =>
    (terminal.stdout.isTTY === true ? readable : columns)(entries, terminal),
});

const columns = asTable<AuditEntry>({
  id: ({ id }) => id,
  at: ({ at }) => at,
  actor: ({ actor }) => actor.name,
  action: ({ action }) => action,
  target: ({ target }) => target,
  before: ({ before }) => (before ? JSON.stringify(before) : ''),
  after: ({ after }) => (after ? JSON.stringify(after) : ''),
  address: ({ address }) => address ?? '',
  key: ({ actor }) => actor.key_id ?? '',
});

/** Entries as paragraphs: their changes are too long for a table. */
function readable(entries: readonly AuditEntry[], terminal: Terminal): void {
  for (const { id, at, actor, action, target, address, before, after } of entries) {
    const by = [actor.name, actor.key_id && `(${actor.key_id})`, address && `from ${address}`];
    terminal.print(`${terminal.paint('bold', id)}  ${at}  ${action}  ${cleanLine(target)}`);
    terminal.print(`  by ${cleanLine(by.filter(Boolean).join(' '))}`);
    for (const change of changesOf(before, after)) terminal.print(`  ${cleanLine(change)}`);
  }
}

/** Changes such as `weight: 1 -> 2`; of something new, the fields that have a value. */
function changesOf(before: Fields | null, after: Fields | null): string[] {
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value ?? null));
  return Object.entries(after ?? {}).flatMap(([name, value]) => {
    if (before) return `${name}: ${text(before[name])} -> ${text(value)}`;
    return ['null', '{}', '', 'false'].includes(text(value)) ? [] : `${name}: ${text(value)}`;
  });
}

interface Verdict {
  valid: boolean;
  entries: number;
  head: { id: string; hash: string } | null;
  fault: { id: string; message: string } | null;
}

function verify(cli: Cli): Command {
  return clientCommand(
    'verify',
    'check that no entry was changed, removed, inserted or moved; exits 1 for a fault',
    true,
  )
    .argument('[file]', 'file written by audit export; the log of the server if absent')
    .option('--head <hash>', 'hash that the log must contain, as an earlier verify printed it')
    .addHelpText('after', examples('', '--head a95b27c1', 'audit.jsonl'))
    .action(async (file: string | undefined, options: ClientOptions & { head?: string }) => {
      const entries =
        file === undefined ? readLog(connectAdmin(cli, options)) : readFile(existingFile(file, cli.cwd));
      const verdict = await check(entries, options.head);
      if (!verdict.valid) cli.exitCode = exitCodes.usage;
      if (options.json === true) return cli.terminal.json(verdict);
      const { fault, head } = verdict;
      if (fault)
        return cli.terminal.print(`${cli.terminal.paint('red', 'Invalid:')} ${fault.id} ${fault.message}.`);
      cli.terminal.print(
        `${cli.terminal.paint('green', 'Valid:')} ${verdict.entries} ${verdict.entries === 1 ? 'entry' : 'entries'}.`,
      );
      if (head) cli.terminal.print(`Head: ${head.id} ${head.hash}`);
      if (file !== undefined)
        cli.terminal.note('Entries missing at the end of a file are not noticed without --head.');
    });
}

function exportLog(cli: Cli): Command {
  return clientCommand('export', 'print the whole log as JSON lines, oldest first', true)
    .addHelpText('after', examples('> audit.jsonl'))
    .action(async (options: ClientOptions) => {
      for await (const { entry } of readLog(connectAdmin(cli, options))) if (entry) cli.terminal.json(entry);
    });
}

export const audit = group('audit', [list, verify, exportLog]);

/** Entries in order; those of a server end with the head. */
type Log = AsyncIterable<{ entry?: AuditEntry; head?: AuditHead }>;

async function* readLog(client: Client): Log {
  let last: { id: string; hash: string } | null = null;
  for await (const { data, head } of pagesOf((after) =>
    client.audit.list({ order: 'asc', limit: pageSize, after }),
  )) {
    for (const entry of data) yield { entry };
    // The head and the last page are of one snapshot.
    last = head;
  }
  const { id = '', hash = '' } = last ?? {};
  yield { head: { sequence: auditSequence(id) ?? 0, hash } };
}

async function* readFile(path: string): Log {
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(path) })) {
    number++;
    const entry = parseOrUndefined(line) as AuditEntry | undefined;
    if (typeof entry?.id !== 'string')
      throw new CliError(`Line ${number} of ${path} is not an entry of the audit log.`);
    yield { entry };
  }
}

async function check(log: Log, hash: string | undefined): Promise<Verdict> {
  const chain = createAuditCheck();
  let head: AuditHead | undefined;
  let isFound = hash === undefined;
  for await (const each of log) {
    if (each.entry) chain.add(each.entry);
    isFound ||= each.entry?.hash === hash;
    head ??= each.head;
  }
  const { last } = chain;
  const found = chain.end(head);
  const missing = isFound
    ? null
    : { id: auditId(last.sequence), message: 'is the last entry, and none has the hash of --head' };
  const fault = found ?? missing;
  return {
    valid: !fault,
    entries: last.sequence,
    head: last.sequence === 0 ? null : { id: auditId(last.sequence), hash: last.hash },
    fault,
  };
}
