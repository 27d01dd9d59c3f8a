import { Option } from 'commander';
import type { RemotePauses, RemoteReplica } from '../../client/resources.ts';
import { asTable, group, queryCommand, wholeNumber } from '../shared/commands.ts';
import { CliError } from '../shared/exit-codes.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface Scope {
  model?: string;
  org?: string;
  everything?: true;
}

const scopeOptions = [
  new Option('--model <model>', 'only batches of this model'),
  new Option('--org <org>', 'only batches of this org, by its id or name'),
  new Option('--everything', 'all batches').conflicts(['model', 'org']),
];

function scopeOf({ model, org, everything }: Scope): Scope {
  if (model === undefined && org === undefined && !everything)
    throw new CliError('Name --model or --org, or pass --everything for all batches.');
  return {
    ...(model !== undefined && { model }),
    ...(org !== undefined && { org }),
    ...(everything && { everything }),
  };
}

export const pause = queryCommand({
  usage: 'pause',
  about: 'send no more requests of batches: of a model, of an org, or of all',
  isAdmin: true,
  options: scopeOptions,
  examples: ['--model tiny', '--org search', '--everything'],
  ask: ({ admin }, _, scope: Scope) => admin.pause(scopeOf(scope)),
  show: showPauses,
});

export const resume = queryCommand({
  usage: 'resume',
  about: 'end the pauses of a model, of an org, or all pauses, and list those still in force',
  isAdmin: true,
  options: scopeOptions,
  examples: ['--model tiny', '--everything'],
  ask: ({ admin }, _, scope: Scope) => admin.resume(scopeOf(scope)),
  show: showPauses,
});

export const pauses = queryCommand({
  usage: 'pauses',
  about: 'list the pauses in force',
  isAdmin: true,
  examples: [''],
  ask: ({ admin }) => admin.pauses(),
  show: showPauses,
});

function showPauses({ data }: RemotePauses, terminal: Terminal): void {
  if (data.length === 0) return terminal.note('No batches are paused.');
  asTable<RemotePauses['data'][number]>({
    model: ({ model }) => model ?? 'all',
    org: ({ org, org_id: id }) => org ?? id ?? 'all',
    since: ({ since }) => since,
    key: ({ key_id: key }) => key,
  })(data, terminal);
}

const list = queryCommand({
  usage: 'list',
  about: 'list the servers of all models, with their state and load',
  isAdmin: true,
  examples: [''],
  ask: async ({ admin }) => (await admin.replicas.list()).data,
  show: showReplicas,
});

export const replicas = group('replicas', [
  list,
  one('drain', 'send no new requests to a server; those in flight finish'),
  one('undrain', 'send requests to a drained server again'),
  queryCommand({
    usage: 'cap <id>',
    about: 'keep the requests in flight at a server within a number; those above it finish',
    isAdmin: true,
    options: [
      new Option('--max-in-flight <n>', 'most requests in flight')
        .argParser(wholeNumber('--max-in-flight', 1, 100_000))
        .makeOptionMandatory(),
    ],
    examples: ['rep_0199f3a2 --max-in-flight 4'],
    ask: ({ admin }, id, { maxInFlight }: { maxInFlight: number }) =>
      admin.replicas.cap(id, { max_in_flight: maxInFlight }),
    show: (replica, terminal) => showReplicas([replica], terminal),
  }),
  one('uncap', 'use all slots of a capped server again'),
]);

function one(name: 'drain' | 'undrain' | 'uncap', about: string) {
  return queryCommand({
    usage: `${name} <id>`,
    about,
    isAdmin: true,
    examples: ['rep_0199f3a2'],
    ask: ({ admin }, id) => admin.replicas.act(id, name),
    show: (replica, terminal) => showReplicas([replica], terminal),
  });
}

function showReplicas(all: readonly RemoteReplica[], terminal: Terminal): void {
  asTable<RemoteReplica>({
    id: ({ id }) => id,
    model: ({ model }) => model,
    server: ({ server }) => server,
    health: ({ health }) => health ?? 'not configured',
    slots: ({ in_use: used, slots }) => `${used}/${slots ?? '?'}`,
    'in flight': ({ in_flight: inFlight }) => String(inFlight),
    slowdown: ({ slowdown }) => (slowdown === null ? '' : String(slowdown)),
    found: ({ found }) => (found === null ? '' : String(found)),
    configured: ({ configured }) => (configured === null ? '' : String(configured)),
    drained: ({ drained_at: at }) => at ?? '',
    cap: ({ cap }) => (cap === null ? '' : String(cap)),
    waiting: ({ waiting }) => waiting?.message ?? '',
  })(all, terminal);
}
