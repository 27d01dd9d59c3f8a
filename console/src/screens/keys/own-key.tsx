import { useSession } from '../../api/session.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Facts } from '../../parts/facts.tsx';
import { LimitsInUse } from '../../parts/limits-in-use.tsx';
import { Screen, Section } from '../../parts/screen.tsx';
import { Time } from '../../parts/time.tsx';

/** The key of the session, for those who administer none. */
export function OwnKey() {
  const session = useSession();
  return (
    <Screen title="Keys">
      <Section title="Your key">
        <Facts
          facts={[
            { label: 'Name', value: session.key || '–' },
            {
              label: 'ID',
              value: (
                <>
                  <code>{session.key_id}</code> <CopyButton text={session.key_id} what="the key ID" />
                </>
              ),
            },
            { label: 'Org', value: <span title={session.org_id}>{session.org ?? session.org_id}</span> },
            { label: 'Scopes', value: session.scopes.join(', ') },
            { label: 'Models', value: session.models?.join(', ') ?? 'All' },
            { label: 'Session ends', value: <Time at={session.expires_at} /> },
          ]}
        />
      </Section>
      <Section title="Limits">
        <LimitsInUse of={{ kind: 'self' }} />
      </Section>
      <p>An administrator creates, rotates and limits keys.</p>
    </Screen>
  );
}
