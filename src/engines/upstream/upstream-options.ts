import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Log } from '../../base/log.ts';
import type { Flavor, CustomTraits } from '../../core/flavor.ts';
import type { ModelInput, Serves } from '../../core/model.ts';
import type { Capabilities } from '../engines.ts';
import type { Timeouts } from './connection/timeouts.ts';

export interface UpstreamOptions {
  /** Base address, mostly ending in `/v1` (`connection/address.ts`). */
  url: string;
  /** The upstream's own name of the model. */
  model: string;
  apiKey?: string | undefined;
  /** `auto` asks the server when it is started; `generic` if absent. */
  flavor?: Flavor | 'auto' | undefined;
  /** What is configured over its flavor. */
  ownTraits?: CustomTraits | undefined;
  /** Requests the upstream works on at once; null where nobody knows. */
  slots: number | null;
  /** What servers of its kind serve if absent. */
  serves?: readonly Serves[] | undefined;
  /** What the model takes beside text; what servers of its kind may take if absent. */
  inputs?: readonly ModelInput[] | undefined;
  /** Members of requests that go on to the server though its flavor does not name them. */
  passThrough?: readonly string[] | undefined;
  /** What is known better than by its flavor. */
  capabilities?:
    | Partial<Pick<Capabilities, 'jsonSchema' | 'forcedTool' | 'prefixCache' | 'customTools' | 'formats'>>
    | undefined;
  /** Sent with every call. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Who signs its certificate, as PEM; who is known everywhere if absent. */
  ca?: string | undefined;
  contextLength?: number | null | undefined;
  timeouts?: Partial<Timeouts> | undefined;
  clock: Clock;
  ids: Ids;
  log: Log;
}
