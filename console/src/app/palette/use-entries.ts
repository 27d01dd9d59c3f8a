import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { serverPath } from '../../api/base.ts';
import { hasScope, type Session, useSignOut } from '../../api/session.ts';
import { batchName } from '../../parts/batch-name.ts';
import { batchState } from '../../parts/batch-state.ts';
import { navigationFor } from '../navigation.ts';
import { type Entry, matching } from './entries.ts';
import { orgsQuery } from '../../api/orgs.ts';
import { foundBatches } from './queries.ts';

interface Found {
  entries: Entry[];
  /** True while batches are searched. */
  isSearching: boolean;
}

/** Entries that the palette offers for a text. @param searched the same text, a moment after the last key */
export function useEntries(
  session: Session,
  { text, searched, onHelp }: { text: string; searched: string; onHelp: () => void },
): Found {
  const router = useRouter();
  const signOut = useSignOut();
  const isAdmin = hasScope(session, 'admin:read');
  const batches = useQuery({
    ...foundBatches(searched.trim(), isAdmin),
    enabled: isAdmin || hasScope(session, 'batches:read'),
  });
  const orgs = useQuery({ ...orgsQuery, enabled: isAdmin && text.trim() !== '' });
  const open = (path: string) => () => router.history.push(`/console${path}`);

  const screens = navigationFor(session).map(({ to, label }): Entry => ({
    id: `screen ${to}`,
    group: 'Screens',
    label,
    run: open(to),
  }));
  const actions: Entry[] = [
    { id: 'help', group: 'Actions', label: 'Keyboard help', run: onHelp },
    {
      id: 'docs',
      group: 'Actions',
      label: 'Documentation',
      run: () => location.assign(`${serverPath}docs/`),
    },
    { id: 'out', group: 'Actions', label: 'Sign out', run: () => signOut.mutate() },
  ];
  const rows = (batches.data ?? []).map((batch): Entry => ({
    id: batch.id,
    group: 'Batches',
    label: batchName(batch) ?? batch.id,
    note: batchState(batch).word,
    run: open(`/batches/${batch.id}`),
  }));
  const names = (orgs.data ?? []).map(({ id, name }): Entry => ({
    id,
    group: 'Orgs',
    label: name,
    note: 'batches of the org',
    run: open(`/batches?${new URLSearchParams({ org: name })}`),
  }));
  const isCurrent = searched === text && !batches.isPlaceholderData;
  return {
    entries: [
      ...matching([...screens, ...actions], text),
      // Rows of an earlier text stay where they fit, until those of this one come.
      ...(isCurrent ? rows : matching(rows, text)),
      ...(text.trim() === '' ? [] : matching(names, text).slice(0, 6)),
    ],
    isSearching: batches.isFetching || !isCurrent,
  };
}
