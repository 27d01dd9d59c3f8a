import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Log } from '../../base/log.ts';
import type { CustomTraits, Flavor } from '../../core/flavor.ts';
import type { ModelInput, Serves } from '../../core/model.ts';
import type { Router } from '../../core/router.ts';
import type { Capabilities } from '../engines.ts';
import type { Timeouts } from './connection/timeouts.ts';

export interface UpstreamOptions {
  /** Base address, usually ending in `/v1` (`connection/address.ts`). */
  url: string;
  /** The upstream's name of the model. */
  model: string;
  apiKey?: string | undefined;
  /** `auto` detects the flavor at start-up; `generic` if absent. */
  flavor?: Flavor | 'auto' | undefined;
  /** Configured differences from the flavor. */
  ownTraits?: CustomTraits | undefined;
  /** Router that answers for several servers. */
  router?: Router | undefined;
  /** Requests processed concurrently; null if unknown. */
  slots: number | null;
  /** The flavor's default if absent. */
  serves?: readonly Serves[] | undefined;
  /** Inputs of the model besides text; the flavor's default if absent. */
  inputs?: readonly ModelInput[] | undefined;
  /** Request fields to pass on although the flavor does not name them. */
  passThrough?: readonly string[] | undefined;
  /** Configured differences from the flavor's capabilities. */
  capabilities?:
    | Partial<Pick<Capabilities, 'jsonSchema' | 'forcedTool' | 'prefixCache' | 'customTools' | 'formats'>>
    | undefined;
  /** Secret that the salts of orgs for the prefix cache are derived from; orgs share the cache if absent. */
  cacheSalt?: string | undefined;
  /** Headers of every call. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Certificate authority of the server, as PEM; the public ones if absent. */
  ca?: string | undefined;
  contextLength?: number | null | undefined;
  timeouts?: Partial<Timeouts> | undefined;
  clock: Clock;
  ids: Ids;
  log: Log;
}
