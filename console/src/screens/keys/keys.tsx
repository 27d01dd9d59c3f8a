import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { hasScope, useSession } from '../../api/session.ts';
import { Button } from '../../parts/button.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Screen, Section } from '../../parts/screen.tsx';
import { useNow } from '../../parts/time.tsx';
import { ChoiceField, SearchField, Toolbar } from '../../parts/toolbar.tsx';
import { Dialogs, type OpenDialog } from './dialogs.tsx';
import { KeysTable } from './keys-table.tsx';
import css from './keys.module.css';
import { OrgsTable } from './orgs-table.tsx';
import { OwnKey } from './own-key.tsx';
import { orgsQuery } from '../../api/orgs.ts';
import { type KeysSearch, keysSearch } from './search.ts';
import { useKeyList } from './use-key-list.ts';

/** Orgs and keys for an admin; for others, what their key may. */
export function Keys() {
  return hasScope(useSession(), 'admin:read') ? <AllKeys /> : <OwnKey />;
}

function AllKeys() {
  const canChange = hasScope(useSession(), 'admin');
  const search: KeysSearch = useSearch({ from: '/keys' });
  const navigate = useNavigate({ from: '/keys' });
  const now = useNow();
  const orgs = useQuery({ ...orgsQuery, refetchInterval: 10_000 });
  const list = useKeyList(search, now);
  const [dialog, setDialog] = useState<OpenDialog>();
  const change = (changes: Record<string, string>) =>
    void navigate({ search: (before) => keysSearch({ ...before, ...changes }), replace: true });
  const orgChoices = orgs.data?.map(({ id, name }) => ({ value: id, label: name })) ?? [];

  return (
    <Screen
      title="Keys"
      actions={
        canChange && (
          <>
            <Button onClick={() => setDialog({ kind: 'org' })}>New org</Button>
            <Button kind="primary" onClick={() => setDialog({ kind: 'edit' })}>
              New key
            </Button>
          </>
        )
      }
    >
      <Section title="Orgs">
        <QueryView query={orgs} what="The orgs">
          {(data) => (
            <OrgsTable
              orgs={data}
              keys={list.usable}
              areAllKeys={list.isWhole}
              onlyOrg={search.org}
              onOpen={canChange ? (org) => setDialog({ kind: 'org', id: org.id }) : undefined}
            />
          )}
        </QueryView>
      </Section>
      <Section title="API keys">
        <div className={css.list}>
          <Toolbar label="Filter keys">
            <SearchField
              label="Search"
              value={search.q ?? ''}
              placeholder="Name, ID, first or last characters"
              onChange={(q) => change({ q })}
            />
            <ChoiceField
              label="Org"
              value={search.org ?? ''}
              choices={[{ value: '', label: 'All orgs' }, ...orgChoices]}
              onChange={(org) => change({ org })}
            />
            <ChoiceField
              label="Keys"
              value={search.keys ?? 'usable'}
              choices={[
                { value: 'usable', label: 'Usable' },
                { value: 'all', label: 'All, also revoked and expired' },
              ]}
              onChange={(which) => change({ keys: which })}
            />
          </Toolbar>
          <QueryView query={list.query} what="The keys" rows={6}>
            {() => (
              <KeysTable
                keys={list.shown}
                now={now}
                isWhole={list.isWhole}
                onEnd={list.loadMore}
                onOpen={({ id }) => setDialog({ kind: 'key', id })}
              />
            )}
          </QueryView>
        </div>
      </Section>
      {dialog && (
        <Dialogs
          dialog={dialog}
          orgs={orgs.data ?? []}
          keys={list.all}
          org={search.org}
          canChange={canChange}
          onOpen={setDialog}
          onClose={() => setDialog(undefined)}
        />
      )}
    </Screen>
  );
}
