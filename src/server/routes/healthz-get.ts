import { json } from '../answer.ts';
import type { Route } from '../route.ts';

/** Whether the process is alive. */
export const getHealth: Route = {
  method: 'GET',
  path: '/healthz',
  access: 'open',
  docs: {
    name: 'Health',
    summary: 'Whether the process is alive',
    tag: 'Server',
    answer: { status: 200, type: 'application/json' },
  },
  handle: async (_incoming, { version }) => json(200, { status: 'ok', version }),
};
