import type { Session } from '../../accounts/accounts.ts';
import { ApiError } from '../../core/errors.ts';
import { parseSignIn, presentSession } from '../../wire/admin/console-session.ts';
import { type Answer, json, jsonText } from '../answer/answer.ts';
import type { MountedRoute, Services } from '../route.ts';
import { smallBody } from '../routes/define-routes.ts';
import { findSession, hostOf, readToken, setCookie } from './session-cookie.ts';

const path = '/console/session';

/** Sign-in, sign-out, and who is signed in. A failed sign-in is paced like all requests without a key. */
export const sessionRoutes: readonly MountedRoute[] = [
  {
    method: 'POST',
    path,
    access: 'open',
    body: { maxBytes: smallBody },
    async handle({ body, headers }, services) {
      const { key } = parseSignIn(body.text);
      const { token, ...session } = await services.accounts.sessions.begin(key, hostOf(headers));
      return answer(201, session, services, setCookie(headers, token));
    },
  },
  {
    // Returns `null` without a session, because the page requests it before the sign-in.
    method: 'GET',
    path,
    access: 'open',
    async handle({ headers }, services) {
      try {
        return await answer(200, await findSession(services.accounts.sessions, headers), services);
      } catch (error) {
        if (error instanceof ApiError && error.code === 'session_ended') return jsonText(200, 'null');
        throw error;
      }
    },
  },
  {
    // Open, so that the cookie of a session that has ended can be removed.
    method: 'DELETE',
    path,
    access: 'open',
    async handle({ headers }, { accounts }) {
      const token = readToken(headers);
      if (token) await accounts.sessions.end(token);
      return json(200, { object: 'console_session', deleted: true }, setCookie(headers));
    },
  },
];

async function answer(
  status: 200 | 201,
  { caller, expiresAt }: Session,
  { accounts, version }: Services,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const org = (await accounts.orgs.names()).get(caller.orgId) ?? null;
  return json(status, presentSession(caller, { org, expiresAt, version }), headers);
}
