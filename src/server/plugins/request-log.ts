import type { FastifyRequest } from 'fastify';
import { clientNetwork } from '../../base/addresses.ts';
import { causeText } from '../../base/cause-text.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { ApiError, ErrorCode } from '../../core/errors.ts';
import type { Caller } from '../../core/org.ts';
import type { ClientAddress } from '../request/client-address.ts';
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
const otherKeys = { org: 'other orgs', key: 'other keys' };

/**
 * Logs one line for each request. Those that any client can send in large numbers, without a valid key or above a limit, are logged
 * in sums above 20 per minute of a network or a key; so are those that fail because an upstream, the database or the disk is away.
 * Only a failure inside the server has a stack, and a line for each request.
 */
export function createRequestLog(deps: { clock: Clock; log: Log; clientAddress: ClientAddress }) {
  const { clock, log, clientAddress } = deps;
  const strangers = createLogSums({
    clock,
    log,
    level: 'info',
    message: 'further requests without a valid key',
    counted: 'statuses',
    others: otherNetworks,
  });
  const refusals = createLogSums({
    clock,
    log,
    level: 'info',
    message: 'further refusals of a key',
    counted: 'codes',
    others: otherKeys,
  });
  const failures = createLogSums({
    clock,
    log,
    level: 'warn',
    message: 'further failed requests of a key',
    counted: 'codes',
    others: otherKeys,
  });

  function networkOf(request: FastifyRequest): { address: string } {
    const address = clientAddress(request.raw);
    return address === undefined ? otherNetworks : { address: clientNetwork(address) };
  }

  /** True for a request that is logged by itself. */
  function countAlone({ request, status, caller, failure }: EndedRequest): boolean {
    if (!caller?.orgId) return strangers.count(networkOf(request), status);
    if (!failure) return true;
    const key = { org: caller.orgId, key: caller.keyId };
    if (isRefusal(failure)) return refusals.count(key, failure.code);
    return !isOutage(failure) || failures.count(key, failure.code);
  }

  return {
    write(ended: EndedRequest): void {
      const { what, caller, failure } = ended;
      const isServerFault = failure !== undefined && failure.status >= 500;
      if (!countAlone(ended)) return;
      const fields = {
        ...ended.fields,
        org: caller?.orgId || undefined,
        key: caller?.keyId || undefined,
        code: failure?.code,
      };
      if (!isServerFault) return log.info(fields, what);
      const { message: reason, cause } = failure;
      if (isRefusal(failure)) log.warn({ ...fields, reason }, `${what} refused`);
      else if (isOutage(failure)) log.error({ ...fields, reason, cause: causeText(cause) }, `${what} failed`);
      else log.error({ ...fields, err: cause ?? failure }, `${what} failed`);
    },
    /** Logs the sums so far. */
    flush() {
      strangers.flush();
      refusals.flush();
      failures.flush();
    },
  };
}

const refusalKinds: readonly ApiError['kind'][] = ['rate', 'quota', 'overloaded'];

/** True if a limit or a load explains the error; false if something is broken, which has a cause. */
function isRefusal({ kind, cause }: ApiError): boolean {
  return cause === undefined && refusalKinds.includes(kind);
}

/** Failures of what the server depends on. */
const outageCodes: ReadonlySet<ErrorCode> = new Set([
  'upstream_unreachable',
  'upstream_error',
  'upstream_timeout',
  'invalid_upstream_response',
  'schema_not_met',
  'tool_not_called',
  'poison_request',
  'storage_unavailable',
  'insufficient_storage',
]);

function isOutage({ code }: ApiError): boolean {
  return outageCodes.has(code);
}
