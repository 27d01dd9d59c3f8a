import type { Clock } from '../../../../base/clock.ts';
import { type Fields, fieldsOf, parseOrUndefined, stringOr } from '../../../../base/fields.ts';
import { ApiError } from '../../../../core/errors.ts';
import type { Reply } from '../../connection/replies.ts';
import { createTransport } from '../../connection/transport.ts';
import { endOf, lastLine } from './log-text.ts';
import type { JobOrder, JobRunner, JobState } from './runner.ts';
import { readState } from './state-words.ts';
import { jobVariables } from './variables.ts';

export interface RayRunnerOptions {
  /** Address of the cluster's dashboard, such as `http://head:8265`. */
  address: string;
  /** Shell command of the job, run on the head node. */
  entrypoint: string;
  /** Further members of the submission, such as `runtime_env` and `entrypoint_num_cpus`. */
  submission: Readonly<Fields>;
  headers: Readonly<Record<string, string>>;
  clock: Clock;
}

const timeouts = { connectMs: 10_000, firstByteMs: 60_000, idleMs: 30_000, totalMs: 120_000 };

/** Runs jobs with the Jobs API of a Ray cluster (docs/engines/ray.md). */
export function createRayRunner(options: RayRunnerOptions): JobRunner {
  const { origin, host, pathname } = new URL(options.address);
  const base = `${pathname.replace(/\/+$/, '')}/api`;
  const never = new AbortController().signal;
  const { headers, clock } = options;
  const transport = createTransport({ origin, headers, connections: 4, timeouts, clock });

  const get = (path: string, signal = never) => transport.get(base + path, signal);
  const post = (path: string, body: object) => transport.post(base + path, JSON.stringify(body), never);

  async function submit(order: JobOrder): Promise<string> {
    try {
      const reply = await post('/jobs/', submissionOf(order, options));
      if (!isOk(reply)) throw failure(reply);
    } catch (error) {
      // The answer to this attempt, or to an earlier one, may be lost.
      const isKnown = await get(`/jobs/${order.id}`).then(isOk, () => false);
      if (!isKnown) throw error;
    }
    return order.id;
  }

  return {
    name: host,
    start: submit,

    async stateOf({ id }): Promise<JobState> {
      const reply = await get(`/jobs/${id}`);
      if (reply.status === 404) return { state: 'failed', note: 'Ray does not know the job any more.' };
      if (!isOk(reply)) throw failure(reply);
      const { status, message } = fieldsOf(parseOrUndefined(reply.body.toString()));
      const found = readState(stringOr(status, ''));
      return found.state === 'failed' ? { ...found, note: stringOr(message, found.note) } : found;
    },

    async cancel({ id }) {
      const reply = await post(`/jobs/${id}/stop`, {});
      if (!isOk(reply) && reply.status !== 404) throw failure(reply);
    },

    async logOf({ id }) {
      const { logs } = fieldsOf(parseOrUndefined((await get(`/jobs/${id}/logs`)).body.toString()));
      return endOf(stringOr(logs, ''));
    },

    async check(signal) {
      const { status } = await get('/version', signal);
      const message = `The cluster takes no jobs at present (status ${status}).`;
      if (status < 200 || status >= 300) throw new ApiError('upstream_unreachable', message);
    },

    stop: () => transport.close(),
  };
}

function submissionOf(order: JobOrder, { entrypoint, submission }: RayRunnerOptions): Fields {
  const environment = fieldsOf(submission['runtime_env']);
  return {
    metadata: { model: order.model, lines: String(order.lines) },
    ...submission,
    entrypoint,
    submission_id: order.id,
    runtime_env: {
      ...environment,
      env_vars: {
        ...fieldsOf(environment['env_vars']),
        ...jobVariables(order),
      },
    },
  };
}

function isOk({ status }: Reply<unknown>): boolean {
  return status >= 200 && status < 300;
}

/** Error of a refused call, for the operator: Ray answers with a stack trace. */
function failure({ status, body }: Reply<Buffer>): Error {
  return new Error(`Ray answers with status ${status}: ${lastLine(body.toString()).slice(0, 500)}`);
}
