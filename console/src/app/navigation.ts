import { hasScope, type Scope, type Session } from '../api/session.ts';

/** Screens in the order of the menu. */
const entries = [
  entry('/', 'Overview'),
  entry('/requests', 'Requests', 'admin:read'),
  entry('/playground', 'Playground', 'inference'),
];

export type NavigationEntry = (typeof entries)[number];

/** Screens that a session may open. */
export function navigationFor(session: Pick<Session, 'scopes'>): NavigationEntry[] {
  return entries.filter(({ scope }) => scope === undefined || hasScope(session, scope));
}

/** @param scope needed to see the screen at all; none if absent */
function entry<const To extends string>(to: To, label: string, scope?: Scope) {
  return { to, label, scope };
}
