import {
  type QueryClient,
  useMutation,
  useQuery,
  useQueryClient,
  type UseQueryResult,
} from '@tanstack/react-query';
import { hasScope as includesScope } from '../../../src/core/org.ts';
import type { ConsoleSessionBody } from '../../../src/wire/admin/console-session.ts';
import { consolePath } from './base.ts';
import { sendJson } from './send.ts';

export type Session = ConsoleSessionBody;
export type Scope = Session['scopes'][number];

/** End of the last session of the page; null before the first one. */
export type SessionEnd = 'signed out' | 'expired' | null;

export const sessionKey = ['session'] as const;
const path = `${consolePath}session`;

/** The session; null before the sign-in. */
export function useSessionQuery(): UseQueryResult<Session | null> {
  return useQuery({
    queryKey: sessionKey,
    queryFn: ({ signal }) => sendJson<Session | null>(new Request(path, { signal })),
    staleTime: 60_000,
    refetchInterval: 60_000,
    // A paused page shows the end of its session, too.
    refetchIntervalInBackground: true,
  });
}

/** Exchanges a key for a session. The key is in no state of the page afterwards. */
export function useSignIn() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (key: string) =>
      sendJson<Session>(
        new Request(path, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ key }),
        }),
      ),
    gcTime: 0,
    onSuccess(session) {
      isSignedOut = false;
      forgetAll(queries);
      queries.setQueryData(sessionKey, session);
    },
  });
}

/** Forgets what the session showed: the next one may see less. */
function forgetAll(queries: QueryClient): void {
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] });
}

/** True after the user signed out, until the next session. */
let isSignedOut = false;

/** Returns the end of the session that the page had. @param hadSession true if the page had one */
export function sessionEnd(hadSession: boolean): SessionEnd {
  if (!hadSession) return null;
  return isSignedOut ? 'signed out' : 'expired';
}

/** Ends the session and forgets everything that it showed. */
export function useSignOut() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => sendJson(new Request(path, { method: 'DELETE' })),
    onSettled() {
      isSignedOut = true;
      queries.setQueryData(sessionKey, null);
      forgetAll(queries);
    },
  });
}

/** Session of the signed-in user. Only inside of the shell, which needs one. */
export function useSession(): Session {
  const { data } = useSessionQuery();
  if (!data) throw new Error('this part is shown without a session');
  return data;
}

/** True where the key has a scope, or the one that it is a part of: `batches` includes `batches:read`. */
export function hasScope(session: Pick<Session, 'scopes'>, scope: Scope): boolean {
  return includesScope(session.scopes, scope) || (scope === 'usage' && hasScope(session, 'admin:read'));
}
