import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { seesAllOrgs } from '../api/batches.ts';
import { hasScope, useSession } from '../api/session.ts';
import { batchState } from './batch-state.ts';
import { Screen } from './screen.tsx';
import { State } from './state.tsx';
import { Tabs } from './tabs.tsx';

interface BatchScreenProps {
  batchId: string;
  /** Undefined until it is loaded. */
  batch:
    | (Parameters<typeof batchState>[0] & { name: string | null; org_id?: string | undefined })
    | undefined;
  actions?: ReactNode;
  children: ReactNode;
}

/** Frame of the screens of one batch: its name, its state, and links between them. */
export function BatchScreen({ batchId, batch, actions, children }: BatchScreenProps) {
  const session = useSession();
  const state = batch && batchState(batch);
  return (
    <Screen
      title={batch ? (batch.name ?? batchId) : 'Batch'}
      parent={<Link to="/batches">Batches</Link>}
      mark={state && <State kind={state.kind}>{state.word}</State>}
      isLive
      actions={actions}
      tabs={
        batch &&
        (seesAllOrgs(session) || hasScope(session, 'batches:read')) && (
          <Tabs label="Views of the batch">
            <Link to="/batches/$batchId" params={{ batchId }} activeOptions={{ exact: true }}>
              Summary
            </Link>
            <Link to="/batches/$batchId/lines" params={{ batchId }} activeOptions={{ includeSearch: false }}>
              Lines
            </Link>
          </Tabs>
        )
      }
    >
      {children}
    </Screen>
  );
}
