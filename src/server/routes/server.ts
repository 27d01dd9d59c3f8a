import { json, jsonText } from '../answer.ts';
import { defineRoutes } from './define-routes.ts';

export const serverRoutes = defineRoutes({ access: 'open', tag: 'Server' }, [
  {
    on: 'GET /healthz',
    name: 'Health',
    summary: 'Whether the process is alive',
    handle: async (_incoming, { version }) => json(200, { status: 'ok', version }),
  },
  {
    // Its database and files answer, and it is not shutting down.
    on: 'GET /readyz',
    name: 'Readiness',
    summary: 'Whether the process should be sent requests',
    async handle(_incoming, { ready, log }) {
      const { ok, reason } = await ready().catch((error: unknown) => {
        log.warn({ err: error }, 'the readiness check failed');
        return { ok: false, reason: 'the check failed' };
      });
      return json(ok ? 200 : 503, { status: ok ? 'ready' : 'not_ready', reason: reason ?? null });
    },
  },
  {
    on: 'GET /openapi.json',
    name: 'Get OpenAPI',
    summary: 'This document',
    handle: async (_incoming, { openapi }) => jsonText(200, openapi()),
  },
]);
