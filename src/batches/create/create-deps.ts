import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { BatchEndpoint } from '../../core/batch.ts';
import type { BatchWindows } from '../../core/batch-window.ts';
import type { SharedCatalog } from '../../core/model.ts';
import type { Files } from '../../files/files.ts';
import type { Store } from '../../store/store.ts';
import type { BatchLimits } from '../batch-context.ts';

export interface CreateDeps {
  /** Throws while the disk has no room for new batches. */
  requireDisk: () => void;
  store: Store;
  files: Files;
  catalog: SharedCatalog;
  ids: Ids;
  clock: Pick<Clock, 'now'>;
  /** Time of prices. */
  billingClock: Pick<Clock, 'now'>;
  limits: BatchLimits & { storedBytes: number };
  /** Metadata member whose value is the tag of the usage. */
  usageTag?: string;
  batch: {
    /** Endpoints of new batches on any surface; `defaultEndpoints` if absent. */
    endpoints?: readonly BatchEndpoint[];
    windows: BatchWindows;
    resultTtlMs: number;
  };
}
