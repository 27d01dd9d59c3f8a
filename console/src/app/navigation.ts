import { hasScope, type Scope, type Session } from '../api/session.ts';

/** Screens in the order of the menu, in groups: the work, a trial, and the administration. */
const groups = [
  [
    entry('/', 'Overview'),
    entry('/batches', 'Batches', 'admin:read', 'batches:read'),
    entry('/batches/new', 'New batch', 'batches'),
    entry('/requests', 'Requests', 'admin:read'),
    entry('/playground', 'Playground', 'inference'),
  ],
  [
    entry('/usage', 'Usage', 'usage'),
    entry('/keys', 'Keys'),
    entry('/operations', 'Operations', 'admin:read', 'batches:read'),
  ],
];
const entries = groups.flatMap((group) =>
  group.map((each, index) => ({
    ...each,
    /** True at the begin of a group. */
    startsGroup: index === 0,
  })),
);

export type NavigationEntry = (typeof entries)[number];

/** Screens that a session may open. */
export function navigationFor(session: Pick<Session, 'scopes'>): NavigationEntry[] {
  return entries.filter(
    ({ scopes }) => scopes.length === 0 || scopes.some((scope) => hasScope(session, scope)),
  );
}

/** Entry that an address belongs to: the one with the longest path. @param path without the base of the console */
export function currentEntry(shown: readonly NavigationEntry[], path: string): NavigationEntry | undefined {
  return shown
    .filter(({ to }) => path === to || (to !== '/' && path.startsWith(`${to}/`)))
    .toSorted((a, b) => b.to.length - a.to.length)[0];
}

/** @param scopes of which a key needs one for the screen to show something; none if absent */
function entry<const To extends string>(to: To, label: string, ...scopes: Scope[]) {
  return { to, label, scopes };
}
