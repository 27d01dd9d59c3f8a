import { useSession } from '../../api/session.ts';
import { Screen } from '../../parts/screen.tsx';
import { Attention } from './attention.tsx';
import { WorkLeft } from './work-left.tsx';

/** What needs attention, and the work that is left: of all orgs for an admin, otherwise of the own org. */
export function Overview() {
  const isAdmin = useSession().scopes.includes('admin');
  return (
    <Screen title="Overview">
      <Attention isAdmin={isAdmin} />
      {isAdmin && <WorkLeft />}
    </Screen>
  );
}
