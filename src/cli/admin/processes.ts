import type { RemoteProcess } from '../../client/resources.ts';
import { asTable, queryCommand } from '../shared/commands.ts';

export const processes = queryCommand({
  usage: 'processes',
  about: 'list the server processes on the database, with their load and leases',
  isAdmin: true,
  examples: ['', '--json'],
  ask: async ({ admin }) => (await admin.processes()).data,
  show: asTable<RemoteProcess>({
    id: ({ id }) => id,
    state: ({ state, is_self: isSelf }) => (isSelf ? `${state}, answers` : state),
    role: ({ role }) => role,
    host: ({ host, pid }) => (host === null ? '' : `${host}:${pid}`),
    version: ({ version }) => version ?? 'older',
    started: ({ started_at: at }) => at ?? '',
    seen: ({ last_seen_at: at }) => at,
    lines: ({ in_flight: { batch_lines: lines } }) => String(lines),
    requests: ({ in_flight: { requests } }) => String(requests),
    leased: ({ leases: { chunks, lines } }) => `${chunks} (${lines} lines)`,
    slots: ({ leases }) => leases.slots.map(({ model, slots }) => `${model} ${slots}`).join(', '),
    models: ({ models }) => models.join(' '),
  }),
});
