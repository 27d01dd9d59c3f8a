import { hasScope, useSession } from '../../api/session.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { NewBatchLink } from '../../parts/new-batch-link.tsx';
import { Pair, Screen } from '../../parts/screen.tsx';
import { Concerns } from './concerns.tsx';
import { Engines } from './engines.tsx';
import { useLiveBatches } from './live-batches.ts';
import { Models } from './models.tsx';
import { OpenBatches } from './open-batches.tsx';
import { Summary } from './summary.tsx';

/** The state of the moment: of all orgs for an admin, otherwise of the own org. */
export function Overview() {
  const session = useSession();
  const isAdmin = hasScope(session, 'admin:read');
  if (!isAdmin && !hasScope(session, 'batches:read'))
    return (
      <Screen title="Overview">
        <EmptyState title="This key shows no batches.">
          <p>To see those of its org, sign in with a key that has the scope batches or batches:read.</p>
        </EmptyState>
      </Screen>
    );
  return <Shown isAdmin={isAdmin} canCreate={hasScope(session, 'batches')} />;
}

function Shown({ isAdmin, canCreate }: { isAdmin: boolean; canCreate: boolean }) {
  useLiveBatches(isAdmin);
  return (
    <Screen title="Overview" isLive actions={canCreate && <NewBatchLink />}>
      <Summary isAdmin={isAdmin} />
      <Pair>
        <Concerns isAdmin={isAdmin} />
        <OpenBatches isAdmin={isAdmin} />
      </Pair>
      {isAdmin && (
        <Pair>
          <Models />
          <Engines />
        </Pair>
      )}
    </Screen>
  );
}
