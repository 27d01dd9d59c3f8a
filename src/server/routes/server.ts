import { json, jsonText } from '../answer/answer.ts';
import { defineRoutes } from './define-routes.ts';

export const serverRoutes = defineRoutes({ access: 'open', tag: 'Server' }, [
  {
    on: 'GET /healthz',
    name: 'Health',
    summary: 'Check that the process is alive',
    handle: async (_incoming, { version }) => json(200, { status: 'ok', version }),
  },
  {
    // Checks the database and the file storage, and fails during a shutdown.
    on: 'GET /readyz',
    name: 'Readiness',
    summary: 'Check that the process can serve requests',
    async handle(_incoming, { ready, log }) {
      const { ok, reason, warning } = await ready().catch(
        (error: unknown): Awaited<ReturnType<typeof ready>> => {
          log.warn({ err: error }, 'readiness check failed');
          return { ok: false, reason: 'the check failed' };
        },
      );
      return json(ok ? 200 : 503, {
        status: ok ? 'ready' : 'not_ready',
        reason: reason ?? null,
        warning: warning ?? null,
      });
    },
  },
  {
    on: 'GET /openapi.json',
    name: 'Get OpenAPI',
    summary: 'Get this OpenAPI document',
    handle: async (_incoming, { openapi }) => jsonText(200, openapi()),
  },
]);
