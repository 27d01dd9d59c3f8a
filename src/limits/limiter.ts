import type { Service } from '../base/service.ts';
import type { Caller } from '../core/org.ts';
import type { RateState } from '../core/rates.ts';
import type { LimitedOwner, RequestLimitUse } from './limit-use.ts';

/** Tokens of a request: an estimate of its input, and the most that it may generate. */
export interface TokenAmounts {
  inputTokens: number;
  outputTokens: number;
}

/** Request that was admitted. */
export interface Admission {
  /** Rates with a limit, each as the org or the key has less of it left. */
  readonly rates: readonly RateState[];
  /** Ends the request and replaces its reserved tokens by those that it used. Only the first call counts. */
  end(used: TokenAmounts): void;
}

/** Limits of single requests per org and key: rates per minute, and requests in flight. */
export interface RequestLimiter extends Service {
  /** Number of orgs and keys in memory. */
  readonly size: number;
  /** Use of limits on single requests by all processes, for each owner in turn. */
  read(owners: readonly LimitedOwner[]): Promise<RequestLimitUse[][]>;
  /** True if any limit applies to the caller. */
  apply(caller: Caller): boolean;
  /**
   * Reserves a request and its tokens within all limits of its org and its key, or within none.
   * @param estimate called only if a limit on tokens applies
   * @param onRates called with the state of the rates, also before an error
   * @throws ApiError `rate_limit_exceeded` (429), with the time until the request fits
   */
  admit(
    caller: Caller,
    estimate: () => TokenAmounts,
    onRates?: (rates: readonly RateState[]) => void,
  ): Admission | Promise<Admission>;
}
