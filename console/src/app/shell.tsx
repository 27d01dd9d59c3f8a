import { Link, Outlet, useLocation, useRouter } from '@tanstack/react-router';
import { Suspense, useEffect, useRef } from 'react';
import { serverPath } from '../api/base.ts';
import { useConnected } from '../api/connection.ts';
import { useReadError } from '../api/read-error.ts';
import { type Session, useSignOut } from '../api/session.ts';
import { Button } from '../parts/button.tsx';
import { currentEntry, navigationFor } from './navigation.ts';
import { Overlays, useOverlays } from './overlays.tsx';
import { ScreenLoading } from './screen-states.tsx';
import css from './shell.module.css';

/** Frame of every screen: header, navigation and the screen itself. On narrow screens the navigation is a menu. */
export function Shell({ session }: { session: Session }) {
  const signOut = useSignOut();
  const menu = useRef<HTMLElement>(null);
  const router = useRouter();
  const [overlay, setOverlay] = useOverlays();
  const path = useLocation({ select: ({ pathname }) => pathname.replace(/^\/console(?=\/|$)/, '') || '/' });
  const entries = navigationFor(session);
  const current = currentEntry(entries, path);
  useEffect(() => router.subscribe('onBeforeNavigate', () => menu.current?.hidePopover()), [router]);
  return (
    <div className={css.shell}>
      <a className={css.skip} href="#screen">
        Skip to the content
      </a>
      <header className={css.header}>
        <button type="button" className={css.menuButton} popoverTarget="navigation">
          Menu
        </button>
        <Link to="/" className={css.name}>
          Offpeak
        </Link>
        <button type="button" className={css.goTo} onClick={() => setOverlay('palette')}>
          Go to <span className={css.goToWhat}>a screen, a batch, an org</span>
          <kbd aria-hidden="true">{isMac ? '⌘ K' : 'Ctrl K'}</kbd>
        </button>
        <Who session={session} />
        <Button kind="quiet" onClick={() => signOut.mutate()} isBusy={signOut.isPending}>
          Sign out
        </Button>
      </header>
      <nav ref={menu} id="navigation" popover="auto" aria-label="Screens" className={css.navigation}>
        <ul>
          {entries.map(({ to, label, startsGroup }) => (
            <li key={to} data-starts-group={startsGroup}>
              <Link
                to={to}
                className={css.entry}
                // The router would mark every entry that begins like the address.
                activeOptions={{ exact: true }}
                aria-current={to === current?.to ? 'page' : undefined}
              >
                {label}
              </Link>
            </li>
          ))}
        </ul>
        <Who session={session} />
        <p className={css.about}>
          <a href={`${serverPath}docs/`}>Documentation</a>
          <span>{session.version}</span>
        </p>
      </nav>
      <main id="screen" className={css.screen} tabIndex={-1}>
        <ConnectionNotice />
        <Suspense fallback={<ScreenLoading />}>
          <Outlet />
        </Suspense>
      </main>
      <Overlays open={overlay} onOpen={setOverlay} />
    </div>
  );
}

/** Org and key of the session: in the header, on narrow screens in the menu. */
function Who({ session: { org, org_id: orgId, key, key_id: keyId } }: { session: Session }) {
  return (
    <p className={css.who}>
      <span className={css.org} title={`Org ${orgId}`}>
        {org ?? orgId}
      </span>
      <span className={css.key} title={`Key ${keyId}`}>
        {key || shortKey(keyId)}
      </span>
    </p>
  );
}

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** End of the id of a key without a name. */
function shortKey(id: string): string {
  return `key …${id.slice(-6)}`;
}

/** Says that the server does not answer, or refuses to. What is on the screen stays there. */
function ConnectionNotice() {
  const isConnected = useConnected();
  const error = useReadError();
  const problem = !isConnected ? 'The server does not answer.' : error?.message;
  return (
    <div role="status">
      {problem !== undefined && (
        <p className={css.notice}>{problem} What you see may be out of date; the console keeps trying.</p>
      )}
    </div>
  );
}
