import { createHash } from 'node:crypto';
import { isoSeconds } from '../../../base/clock.ts';
import type { Flavor, CustomTraits } from '../../../core/flavor.ts';
import { ApiError, unavailable } from '../../../core/errors.ts';
import type { ModelInput, Serves } from '../../../core/model.ts';
import type { Engine, EngineCall } from '../../engines.ts';
import { createChatCalls } from '../chat-calls.ts';
import { createJsonClient } from '../connection/json-client.ts';
import { createOperatorLog } from '../connection/operator-log.ts';
import type { RefusalContext } from '../connection/status-errors.ts';
import type { Transport } from '../connection/transport.ts';
import { createDirectCalls } from '../direct/direct-calls.ts';
import { createNativeCalls } from '../native/native-calls.ts';
import { createProber } from '../probe/prober.ts';
import { createSystemPlacement } from '../systems/system-placement.ts';
import { JobQueue, type JobQueueOptions } from './job-queue.ts';

export interface JobEngineOptions extends JobQueueOptions {
  /** Name of the model in the requests of the input. */
  modelName: string;
  /** Kind of server that the job runs. */
  flavor: Flavor;
  ownTraits?: CustomTraits | undefined;
  /** The flavor's default if absent. */
  serves?: readonly Serves[] | undefined;
  inputs?: readonly ModelInput[] | undefined;
}

/** Base path of the endpoints in the input. */
const base = '/v1';

/**
 * Engine for a model that is not served: its requests become lines of jobs, which a cluster runs when it has room. Requests are written
 * and answers read as for a server of the flavor (`../upstream`); only the transport differs.
 */
export function createJobEngine(options: JobEngineOptions): Engine {
  const { modelName, runner, clock, ids, log, maxLines, maxJobs } = options;
  const queue = new JobQueue(options);
  const operatorLog = createOperatorLog(log, clock, { runner: runner.name, upstream_model: modelName });

  const context = (): RefusalContext => ({
    now: clock.now(),
    secrets: [],
    failures: prober.profile.traits.failures,
    logMessage: operatorLog.refusal,
  });

  const prober = createProber({
    options: {
      ...options,
      url: `http://job${base}`,
      model: modelName,
      slots: null,
      capabilities: { prefixCache: 'none' },
    },
    address: {
      origin: '',
      host: runner.name,
      path: (path) => base + path,
      rootPath: (path) => path,
      secrets: [],
    },
    get: () => Promise.reject(noServer()),
    post: () => Promise.reject(noServer()),
    isOpen: () => false,
    context,
  });

  const client = createJsonClient({
    transport: (call) => jobTransport(queue, call),
    pathOf: (path) => base + path,
    context,
    repairs: operatorLog.repairs,
  });

  async function check(signal: AbortSignal): Promise<void> {
    const { heldMs } = queue;
    if (heldMs > 0) {
      const at = isoSeconds(clock.now() + heldMs);
      const message = `The last job of the model ended without an answer; the next one starts at ${at}.`;
      throw new ApiError('upstream_error', message, { blame: unavailable });
    }
    await runner.check(signal);
  }

  const slots = maxLines * maxJobs;
  return {
    slots,
    capabilities: { ...prober.profile.capabilities, batchOnly: true },
    start: () => Promise.resolve(queue.start()),
    async stop() {
      await queue.stop();
      await runner.stop();
    },
    ...createChatCalls(
      client,
      prober,
      createSystemPlacement(() => {}),
      clock,
      () => ids.next('call_'),
    ),
    native: createNativeCalls(client, prober),
    direct: createDirectCalls(client, prober, { model: modelName }),
    countTokens: () => Promise.resolve(undefined),
    async probe() {
      await check(new AbortController().signal);
      return { slots, queued: null };
    },
    tryOut: check,
  };
}

/** Sends a request as a line of a job. */
function jobTransport(
  queue: JobQueue,
  { line, signal }: Pick<EngineCall, 'line' | 'signal'>,
): Pick<Transport, 'post' | 'postStreaming'> {
  return {
    post(path, given) {
      if (line === undefined) return Promise.reject(batchOnly());
      const body = typeof given === 'string' ? Buffer.from(given) : given;
      // A line is sent again with another body where its first answer breaks a guarantee.
      const mark = createHash('sha256').update(path).update(body).digest('hex').slice(0, 8);
      return queue.run({ key: `${line}.${mark}`, path, body }, signal);
    },
    postStreaming: () => Promise.reject(batchOnly()),
  };
}

function batchOnly(): ApiError {
  return new ApiError('request_refused', 'The model runs in batches only.');
}

function noServer(): ApiError {
  return new ApiError('upstream_unreachable', 'The model has no server: it runs as jobs.');
}
