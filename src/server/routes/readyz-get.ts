import { json } from '../answer.ts';
import type { Route } from '../route.ts';

/** Whether the process should be sent requests: its database and files answer and it is not shutting down. */
export const getReadiness: Route = {
  method: 'GET',
  path: '/readyz',
  access: 'open',
  docs: {
    name: 'Readiness',
    summary: 'Whether the process should be sent requests',
    tag: 'Server',
    answer: { status: 200, type: 'application/json' },
  },
  async handle(_incoming, { ready, log }) {
    const state = await ready().catch((error: unknown) => {
      log.warn({ err: error }, 'the readiness check failed');
      return { ok: false, reason: 'the check failed' };
    });
    return json(state.ok ? 200 : 503, {
      status: state.ok ? 'ready' : 'not_ready',
      reason: state.reason ?? null,
    });
  },
};
