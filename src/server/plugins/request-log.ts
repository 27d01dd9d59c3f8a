import type { FastifyRequest } from 'fastify';
import { clientNetwork } from '../../base/addresses.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { ApiError } from '../../core/errors.ts';
import type { Caller } from '../../core/org.ts';
import type { ClientAddress } from '../client-address.ts';
import { createLogSums } from './log-sums.ts';

/** Ended request, or ended turn of a WebSocket. */
export interface EndedRequest {
  what: 'request' | 'turn';
  request: FastifyRequest;
  status: number;
  caller: Caller | undefined;
  failure: ApiError | undefined;
  /** Further fields of its line. */
  fields: object;
}

export type RequestLog = ReturnType<typeof createRequestLog>;

const otherNetworks = { address: 'other networks' };

/**
 * Logs one line for each request. Those that any client can send in large numbers, without a valid key or above a limit, are logged
 * in sums above 20 per minute of a network or a key.
 */
export function createRequestLog(deps: { clock: Clock; log: Log; clientAddress: ClientAddress }) {
  const { clock, log, clientAddress } = deps;
  const strangers = createLogSums({
    clock,
    log,
    message: 'further requests without a valid key',
    counted: 'statuses',
    others: otherNetworks,
  });
  const refusals = createLogSums({
    clock,
    log,
    message: 'further refusals of a key',
    counted: 'codes',
    others: { org: 'other orgs', key: 'other keys' },
  });

  function networkOf(request: FastifyRequest): { address: string } {
    const address = clientAddress(request.raw);
    return address === undefined ? otherNetworks : { address: clientNetwork(address) };
  }

  /** True for a request that is logged by itself. */
  function countAlone({ request, status, caller, failure }: EndedRequest): boolean {
    if (!caller?.orgId) return strangers.count(networkOf(request), status);
    if (!failure || !isRefusal(failure)) return true;
    return refusals.count({ org: caller.orgId, key: caller.keyId }, failure.code);
  }

  return {
    write(ended: EndedRequest): void {
      const { what, caller, failure } = ended;
      const isServerFault = failure !== undefined && failure.status >= 500;
      const isFailure = isServerFault && !isRefusal(failure);
      if (!isFailure && !countAlone(ended)) return;
      const fields = {
        ...ended.fields,
        org: caller?.orgId || undefined,
        key: caller?.keyId || undefined,
        code: failure?.code,
      };
      if (isFailure) log.error({ ...fields, err: failure.cause ?? failure }, `${what} failed`);
      else if (isServerFault) log.warn({ ...fields, reason: failure.message }, `${what} refused`);
      else log.info(fields, what);
    },
    /** Logs the sums so far. */
    flush() {
      strangers.flush();
      refusals.flush();
    },
  };
}

const refusalKinds: readonly ApiError['kind'][] = ['rate', 'quota', 'overloaded'];

/** True if a limit or a load explains the error; false if something is broken, which has a cause. */
function isRefusal({ kind, cause }: ApiError): boolean {
  return cause === undefined && refusalKinds.includes(kind);
}
