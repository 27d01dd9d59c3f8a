import { Link, Outlet, useRouter } from '@tanstack/react-router';
import { Suspense, useEffect, useRef } from 'react';
import { useConnected } from '../api/connection.ts';
import { type Session, useSignOut } from '../api/session.ts';
import { Button } from '../parts/button.tsx';
import { navigationFor } from './navigation.ts';
import { Overlays, useOverlays } from './overlays.tsx';
import { ScreenLoading } from './screen-states.tsx';
import css from './shell.module.css';

/** Frame of every screen: header, navigation and the screen itself. On narrow screens the navigation is a menu. */
export function Shell({ session }: { session: Session }) {
  const signOut = useSignOut();
  const menu = useRef<HTMLElement>(null);
  const router = useRouter();
  const [overlay, setOverlay] = useOverlays();
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
        <p className={css.who}>
          <span className={css.org}>{session.org ?? session.org_id}</span>
          <span className={css.key} title={session.key_id}>
            {session.key || session.key_id}
          </span>
        </p>
        <Button kind="quiet" title="Ctrl+K" onClick={() => setOverlay('palette')}>
          Go to
        </Button>
        <Button kind="quiet" onClick={() => signOut.mutate()} isBusy={signOut.isPending}>
          Sign out
        </Button>
      </header>
      <nav ref={menu} id="navigation" popover="auto" aria-label="Screens" className={css.navigation}>
        <ul>
          {navigationFor(session).map(({ to, label }) => (
            <li key={to}>
              <Link to={to} activeOptions={{ exact: to === '/' }} className={css.entry}>
                {label}
              </Link>
            </li>
          ))}
        </ul>
        <p className={css.about}>
          <a href="/docs/">Documentation</a>
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

/** Says that the server does not answer. What is on the screen stays there. */
function ConnectionNotice() {
  const isConnected = useConnected();
  return (
    <div role="status">
      {!isConnected && (
        <p className={css.notice}>
          The server does not answer. What you see may be out of date; the console keeps trying.
        </p>
      )}
    </div>
  );
}
