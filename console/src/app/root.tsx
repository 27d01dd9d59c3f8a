import { useState } from 'react';
import { sessionEnd, useSessionQuery } from '../api/session.ts';
import { ErrorState } from '../parts/error-state.tsx';
import { Shell } from './shell.tsx';
import { SignIn } from './sign-in.tsx';

/** Shows the screens to those who are signed in, and the sign-in in place of them to others: the address stays. */
export function Root() {
  const { data: session, error, refetch } = useSessionQuery();
  const [wasSignedIn, setSignedIn] = useState(false);
  if (session && !wasSignedIn) setSignedIn(true);
  if (session) return <Shell session={session} />;
  if (session === null) return <SignIn end={sessionEnd(wasSignedIn)} />;
  if (error) return <ErrorState error={error} what="The console" onRetry={() => void refetch()} />;
  return null;
}
