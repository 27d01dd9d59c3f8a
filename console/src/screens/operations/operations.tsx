import { getRouteApi, Link } from '@tanstack/react-router';
import { hasScope, type Session, useSession } from '../../api/session.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { Screen } from '../../parts/screen.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Audit } from './audit.tsx';
import { Pauses } from './pauses.tsx';
import { Processes } from './processes.tsx';
import type { Tab } from './search.ts';
import { Servers } from './servers.tsx';
import { Webhooks } from './webhooks.tsx';

const route = getRouteApi('/operations');

const parts = [
  { tab: 'servers', label: 'Servers', scope: 'admin:read', Part: Servers },
  { tab: 'processes', label: 'Processes', scope: 'admin:read', Part: Processes },
  { tab: 'pauses', label: 'Pauses', scope: 'admin:read', Part: Pauses },
  { tab: 'webhooks', label: 'Webhooks', scope: 'batches:read', Part: Webhooks },
  { tab: 'audit', label: 'Audit log', scope: 'admin:read', Part: Audit },
] as const;

/** Servers, processes and pauses for administrators, webhooks of the own org, and the audit log. */
export function Operations() {
  const session = useSession();
  const { tab } = route.useSearch();
  const open = partsFor(session);
  const current = open.find((part) => part.tab === tab) ?? open[0];
  return (
    <Screen
      title="Operations"
      isLive
      tabs={
        current && (
          <Tabs label="Parts of the operations">
            {open.map((part) => (
              <Link
                key={part.tab}
                to="/operations"
                search={{ tab: part.tab satisfies Tab }}
                // The router sets it for a link to the whole address; here the tab alone counts.
                activeProps={{ 'aria-current': undefined }}
                aria-current={part === current ? 'page' : undefined}
              >
                {part.label}
              </Link>
            ))}
          </Tabs>
        )
      }
    >
      {current ? (
        <current.Part />
      ) : (
        <EmptyState title="This key operates nothing.">
          <p>Sign in with a key that has the scope admin, admin:read or batches.</p>
        </EmptyState>
      )}
    </Screen>
  );
}

function partsFor(session: Session) {
  return parts.filter(({ scope }) => hasScope(session, scope));
}
